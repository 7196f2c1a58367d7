/**
 * The processes that the benchmark starts: all of them end with it, however it ends.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { postWatchdog } from "../watchdog.ts";

/** How to start a process. */
export interface StartOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Receives both outputs; written by the process itself, without a pipe through us. */
  readonly logFile?: string;
}

/** A process that ran to its end. */
export interface Finished {
  readonly stdout: string;
  readonly stderr: string;
}

const running = new Set<ChildProcess>();
/** Characters of a failed program's output that are repeated. */
const saidMax = 1_500;

/** Starts a process that goes on until it is stopped. */
export function start(command: string, args: readonly string[], options: StartOptions = {}): ChildProcess {
  const log = options.logFile === undefined ? "pipe" : openSync(options.logFile, "w");
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...options.env },
    stdio: ["ignore", log, log],
  });
  if (typeof log === "number") closeSync(log);
  running.add(child);
  const watchdog = child.pid === undefined
    ? undefined
    : postWatchdog('kill -KILL "$1"', { args: [String(child.pid)] });
  const ended = () => {
    running.delete(child);
    watchdog?.dismiss();
  };
  child.once("exit", ended);
  child.once("error", ended);
  return child;
}

/**
 * Runs a process to its end.
 *
 * @throws {Error} with what it said, when it fails or runs longer than `timeoutMs`
 */
export function run(
  command: string,
  args: readonly string[],
  options: StartOptions & { readonly timeoutMs: number },
): Promise<Finished> {
  const child = start(command, args, options);
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => stdout += text);
  child.stderr?.setEncoding("utf8").on("data", (text: string) => stderr += text);
  const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs);
  return new Promise<Finished>((settle, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) settle({ stdout, stderr });
      else {reject(
          new Error(
            `${command} ended with ${code ?? signal}:\n${(stderr + stdout).trim().slice(0, saidMax)}`,
          ),
        );}
    });
  }).finally(() => clearTimeout(timer));
}

/** Asks a process to stop (SIGTERM) and returns when it is gone; after 25 s it is killed. */
export async function stop(child: ChildProcess): Promise<void> {
  if (!running.has(child)) return;
  const gone = new Promise((settle) => child.once("exit", settle));
  const timer = setTimeout(() => child.kill("SIGKILL"), 25_000);
  child.kill("SIGTERM");
  await gone;
  clearTimeout(timer);
}

/** Kills everything that still runs. */
export function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
}
