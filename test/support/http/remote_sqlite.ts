/** A SQLite client that reads a database through HTTP range requests: Debian's python3-apsw with a small VFS. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { within } from "./echo.ts";

const script = fileURLToPath(new URL("sqlite_over_http.py", import.meta.url));

/** What one query gave, and what has been fetched so far. */
export interface RemoteResult {
  readonly rows?: readonly (readonly unknown[])[];
  /** Why it failed. */
  readonly error?: string;
  /** The database's length in bytes. */
  readonly size: number;
  readonly requests: number;
  /** Of response bodies. */
  readonly bytes: number;
  /** The media type that the file came with. */
  readonly type: string;
}

/**
 * Runs queries one after the other on one connection to the database at an address; `between` is called before
 * each but the first.
 *
 * @throws {Error} when there is no Python with apsw, or when the client fails
 */
export async function queryRemotely(
  url: string,
  queries: readonly string[],
  between: () => void | Promise<void> = () => {},
): Promise<RemoteResult[]> {
  const child = spawn(python(), [script, "--stepwise", url, ...queries], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const results: RemoteResult[] = [];
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    while (results.length < queries.length) {
      const { done, value } = await within(lines.next(), "answer of the SQLite client", 20_000);
      if (done) throw new Error("The SQLite client has failed");
      results.push(JSON.parse(value));
      if (results.length === queries.length) break;
      await between();
      child.stdin.write("\n");
    }
  } finally {
    await ended(child);
  }
  return results;
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    child.once("exit", () => resolve());
    child.kill();
  });
}

/** A Python of one's own may come first on the PATH, and has not what Debian installs. */
function python(): string {
  const found = ["python3", "/usr/bin/python3"].find((command) =>
    spawnSync(command, ["-c", "import apsw"], { stdio: "ignore" }).status === 0
  );
  if (found === undefined) {
    throw new Error("Python with apsw is missing. On Debian: apt-get install python3-apsw");
  }
  return found;
}
