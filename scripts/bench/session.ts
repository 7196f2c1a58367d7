/**
 * What every benchmark's program does around its work: signals, the peers' packages, the exit code. Everything
 * that was started ends with it.
 *
 * @module
 */

import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { killAll, run } from "./children.ts";
import type { Stage } from "./stage.ts";

/** One run of a benchmark. */
export interface Session {
  /** Closed at the end of the run. */
  stage: Stage | undefined;
  /** Somebody has asked it to end. */
  isStopping: boolean;
}

/** Tells the person at the terminal; the standard output is for the result. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Runs `work`, whose result is the exit code, and ends whatever it has started, however it ends. */
export async function runSession(work: (session: Session) => Promise<number>): Promise<void> {
  const session: Session = { stage: undefined, isStopping: false };
  const cleanUp = async () => {
    killAll();
    await session.stage?.close();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, async () => {
      if (session.isStopping) return;
      session.isStopping = true;
      say(`\n${signal}: ending what was started`);
      await cleanUp();
      process.exit(130);
    });
  }
  try {
    process.exitCode = await work(session);
  } catch (error) {
    if (session.isStopping) return;
    say(error instanceof Error ? error.stack ?? error.message : String(error));
    process.exitCode = 1;
  } finally {
    if (!session.isStopping) await cleanUp();
  }
}

/** The result of `read`; exits with 2, and with what the command takes, when the command line is wrong. */
export function optionsOrExit<T>(read: (args: string[]) => T, help: string): T {
  try {
    return read(process.argv.slice(2));
  } catch (error) {
    say(`${error instanceof Error ? error.message : error}\n\n${help}`);
    process.exit(2);
  }
}

/** The peers' packages are their own; they are installed when they are missing or out of date. */
export async function installPeers(): Promise<void> {
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const installed = join(folder, "node_modules", ".package-lock.json");
  const lock = join(folder, "package-lock.json");
  if (
    existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs
  ) return;
  say("npm ci --prefix scripts/bench");
  // With all of the environment: it may name a proxy or a certificate.
  await run("npm", ["ci", "--prefix", folder], { timeoutMs: 300_000, env: process.env });
  // Deno's type check of the whole repository would take in this second copy of Node's types, and trip over it.
  rmSync(join(folder, "node_modules", "@types"), { recursive: true, force: true });
}
