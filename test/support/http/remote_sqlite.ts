/** A SQLite client that reads a database by HTTP range requests: Debian's python3-apsw with a small VFS. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { within } from "./echo.ts";

const script = fileURLToPath(new URL("sqlite_over_http.py", import.meta.url));

/** The result of one query and the totals fetched so far. */
export interface RemoteResult {
  readonly rows?: readonly (readonly unknown[])[];
  /** The reason for a failure. */
  readonly error?: string;
  /** The database's size in bytes. */
  readonly size: number;
  readonly requests: number;
  /** The bytes of response bodies. */
  readonly bytes: number;
  /** The file's media type. */
  readonly type: string;
}

/**
 * Runs queries in order on one connection to the database at an address and calls `between` before each but the
 * first.
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

/** Another Python may precede Debian's on the PATH. */
function python(): string {
  const found = ["python3", "/usr/bin/python3"].find((command) =>
    spawnSync(command, ["-c", "import apsw"], { stdio: "ignore" }).status === 0
  );
  if (found === undefined) {
    throw new Error("Python with apsw is missing. On Debian: apt-get install python3-apsw");
  }
  return found;
}
