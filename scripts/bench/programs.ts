/**
 * The checkouts whose service is measured, and the processes that a benchmark starts: all of them end with it, however it
 * ends.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { postWatchdog } from "../watchdog.ts";

/** Where a benchmark leaves its files. */
export const buildFolder = fileURLToPath(new URL("../../build/bench", import.meta.url));

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The Node that runs the peers and the clients, whatever runs the benchmark. */
export const node = process.versions.deno === undefined
  ? process.execPath
  : join(root, "node_modules/.bin/node");
/** The Deno of the repository. */
export const deno = join(root, "node_modules/.bin/deno");

/** How to start a process. */
interface StartOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Receives both outputs; written by the process itself, without a pipe through us. */
  readonly logFile?: string;
}

/** A process that runs, and where it listens. */
export interface Program {
  readonly pid: number;
  /** By what it calls the listener. */
  readonly urls: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Asks it to stop and returns when it is gone. */
  stop(): Promise<void>;
}

const startTimeoutMs = 20_000;
const stopTimeoutMs = 25_000;
/** Between looks at a log. */
const pollMs = 5;
/** Characters of a failed program's output that are repeated. */
const saidMax = 2_000;

/** Tells the person at the terminal; the standard output is for the result. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Starts a process that goes on until it is stopped. */
export function start(command: string, args: readonly string[], options: StartOptions = {}): ChildProcess {
  const log = options.logFile === undefined ? "pipe" : openSync(options.logFile, "w");
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...options.env },
    stdio: ["ignore", log, log],
  });
  if (typeof log === "number") closeSync(log);
  if (child.pid !== undefined) {
    const watchdog = postWatchdog('kill -KILL "$1"', { args: [String(child.pid)] });
    child.once("exit", () => watchdog.dismiss());
  }
  return child;
}

/**
 * Runs a process to its end, and returns its standard output.
 *
 * @throws {Error} with what it said, when it fails or runs longer than `timeoutMs`
 */
export function run(
  command: string,
  args: readonly string[],
  options: StartOptions & { readonly timeoutMs: number },
): Promise<string> {
  const child = start(command, args, options);
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => stdout += text);
  child.stderr?.setEncoding("utf8").on("data", (text: string) => stderr += text);
  const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs);
  return new Promise<string>((settle, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) settle(stdout);
      else {reject(
          new Error(`${command} ended with ${code ?? signal}:\n${(stderr + stdout).slice(0, saidMax)}`),
        );}
    });
  }).finally(() => clearTimeout(timer));
}

/** Runs a client of ours, a module of this folder that gets its task as JSON and answers with JSON. */
export async function runClient<T>(module: string, task: unknown, seconds: number): Promise<T> {
  const file = fileURLToPath(new URL(module, import.meta.url));
  const env = { TASK: JSON.stringify(task) };
  return JSON.parse(await run(node, [file], { timeoutMs: (seconds + 60) * 1_000, env }));
}

/** Asks a process to stop (SIGTERM) and returns when it is gone; after a while it is killed. */
export async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const gone = new Promise((settle) => child.once("exit", settle));
  const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  child.kill("SIGTERM");
  await gone;
  clearTimeout(timer);
}

/**
 * Starts a process and waits until its log says `"event":"listening"` of the listener, or, of none, `"event":"started"`;
 * the peers say it as our service does.
 *
 * @throws {Error} with the end of its log, when it does not come
 */
export async function startProgram(
  name: string,
  [command = "", ...args]: readonly string[],
  { listener, ...options }: Omit<StartOptions, "logFile"> & { readonly listener?: string } = {},
): Promise<Program> {
  const logFile = join(buildFolder, `${name}.log`);
  const child = start(command, args, { cwd: root, ...options, logFile });
  const awaited = listener === undefined ? '"event":"started"' : `"surface":"${listener}"`;
  const deadlineMs = performance.now() + startTimeoutMs;
  while (true) {
    // Whether it has ended is asked first, so that nothing is said after the look.
    const failed = hasEnded(child) || performance.now() > deadlineMs;
    const lines = readFileSync(logFile, "utf8").split("\n");
    if (lines.slice(0, -1).some((line) => line.includes(awaited))) {
      const said = lines.filter((line) => line.includes('"event":"listening"')).map((line) =>
        JSON.parse(line)
      );
      const urls = Object.fromEntries(said.map(({ surface, url }): [string, string] => [surface, url]));
      return { pid: child.pid as number, urls, logFile, stop: () => stop(child) };
    }
    if (failed) {
      await stop(child);
      throw new Error(`${name} did not start:\n${lines.join("\n").slice(-saidMax)}`);
    }
    await delay(pollMs);
  }
}

function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null;
}

/** A checkout. */
export interface Tree {
  readonly name: string;
  readonly folder: string;
}

/** The one that this file is in. */
export const thisTree: Tree = { name: "this tree", folder: root };

/**
 * Another one: a folder, or a commit by any name that git knows, which is put into the build folder. It runs with this
 * one's packages.
 */
export async function openTree(reference: string): Promise<Tree> {
  if (existsSync(join(reference, "src/main.ts"))) return { name: reference, folder: resolve(reference) };
  const folder = join(buildFolder, "against");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const archive = `${folder}.tar`;
  await run("git", ["archive", `--output=${archive}`, reference], { cwd: root, timeoutMs: 60_000 });
  await run("tar", ["-xf", archive, "-C", folder], { timeoutMs: 60_000 });
  rmSync(archive);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return { name: reference, folder };
}
