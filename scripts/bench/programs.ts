/**
 * The processes that a benchmark starts, and what they use: all of them end with it, however it ends.
 *
 * @module
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { denoFlags } from "../../src/settings/deno_flags.ts";
import { variables } from "../../src/settings/variables.ts";
import { childrenOf } from "../processes.ts";
import { postWatchdog } from "../watchdog.ts";

/** The environment of a process, beside `PATH` and `HOME`. */
type Environment = Readonly<Record<string, string | undefined>>;

/** The result of a round, by name and unit. */
export type Measures = Readonly<Record<string, number>>;

/** A process that runs, and where it listens. */
export interface Program {
  readonly pid: number;
  /** By the listener's name. */
  readonly urls: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Asks it to stop and returns when it is gone. */
  stop(): Promise<void>;
}

/** A checkout. */
export interface Tree {
  readonly name: string;
  readonly folder: string;
}

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Where a benchmark leaves its files. */
export const buildFolder = join(root, "build/bench");

/** The Node that runs the peers, whatever runs the benchmark. */
export const node = process.versions.deno === undefined
  ? process.execPath
  : join(root, "node_modules/.bin/node");

/** The checkout that this file is in. */
export const thisTree: Tree = { name: "this tree", folder: root };

const startTimeoutMs = 20_000;
const stopTimeoutMs = 25_000;
/** Between looks at a log. */
const pollMs = 5;

/** Prints to the standard error; the standard output is for the result. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

const environment = (env: Environment = {}) => ({ PATH: process.env.PATH, HOME: process.env.HOME, ...env });

/**
 * Runs a process to its end, and returns its standard output.
 *
 * @throws {Error} with its standard error, when it fails or runs longer than `timeoutMs`
 */
export async function run(
  command: string,
  args: readonly string[],
  { env, cwd, timeoutMs }: { env?: Environment; cwd?: string; timeoutMs: number },
): Promise<string> {
  const options = { cwd, timeout: timeoutMs, env: environment(env), maxBuffer: 2 ** 26 };
  return (await promisify(execFile)(command, args, options)).stdout;
}

/**
 * Another checkout: a folder, or a commit by any name that git knows, which is put into the build folder. It runs with
 * this one's packages.
 */
export async function openTree(reference: string): Promise<Tree> {
  if (existsSync(join(reference, "src/main.ts"))) {
    return { name: reference, folder: resolve(reference) };
  }
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

/**
 * Starts a process and waits until its log has `"event":"started"`, or, with `listener`, until that surface listens;
 * the peers log it as the service does.
 *
 * @throws {Error} with the end of its log, when it does not come
 */
export async function startProgram(
  name: string,
  [command = "", ...args]: readonly string[],
  { cwd = root, env, listener }: { cwd?: string; env?: Environment; listener?: string | undefined } = {},
): Promise<Program> {
  const logFile = join(buildFolder, `${name}.log`);
  const log = openSync(logFile, "w");
  const child = spawn(command, args, { cwd, env: environment(env), stdio: ["ignore", log, log] });
  closeSync(log);
  child.once("error", (error) => say(error.message));
  if (child.pid !== undefined) {
    const watchdog = postWatchdog('kill -KILL "$1"', { args: [String(child.pid)] });
    child.once("exit", () => watchdog.dismiss());
  }
  const awaited = listener === undefined ? '"event":"started"' : `"surface":"${listener}"`;
  const deadlineMs = performance.now() + startTimeoutMs;
  while (true) {
    // Whether it has ended is asked first: nothing is logged after the look.
    const failed = hasEnded(child) || performance.now() > deadlineMs;
    const lines = readFileSync(logFile, "utf8").split("\n");
    if (lines.slice(0, -1).some((line) => line.includes(awaited))) {
      const listening = lines.filter((line) => line.includes('"event":"listening"'));
      const urls = listening.map((line) => JSON.parse(line)).map(({ surface, url }) => [surface, url]);
      return { pid: child.pid as number, urls: Object.fromEntries(urls), logFile, stop: () => stop(child) };
    }
    if (failed) {
      await stop(child);
      throw new Error(`${name} did not start:\n${lines.join("\n").slice(-2_000)}`);
    }
    await delay(pollMs);
  }
}

function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null;
}

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const gone = new Promise((settle) => child.once("exit", settle));
  const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  child.kill("SIGTERM");
  await gone;
  clearTimeout(timer);
}

const settings = (pattern: RegExp, value: string) =>
  Object.fromEntries(
    Object.keys(variables).filter((name) => pattern.test(name)).map((name) => [name, value]),
  );

/** Limits so high that they never refuse, and each surface on a port of its own. */
const benchSettings = {
  ...settings(/_(PER_MINUTE|BURST)$/, "999999999"),
  ...settings(/_LISTEN$/, "127.0.0.1:0"),
};

const building = new Map<string, Promise<unknown>>();

/** Builds the one file that a release has, once a run, and returns its path below the checkout. */
export async function buildService({ folder }: Tree): Promise<string> {
  const built = building.get(folder) ?? run(node, ["scripts/build.ts"], { cwd: folder, timeoutMs: 60_000 });
  building.set(folder, built);
  await built;
  return "build/programs/service.js";
}

/** Starts the service of a checkout as a release has it, with Node's flags of `npm run service`. */
export async function startService(
  { tree, options }: { readonly tree: Tree; readonly options: { readonly runtime: "node" | "deno" } },
  env: Readonly<Record<string, string>>,
  listener?: string,
): Promise<Program> {
  const given = { ...benchSettings, ...env };
  const { scripts } = JSON.parse(readFileSync(join(tree.folder, "package.json"), "utf8"));
  const nodeFlags = String(scripts.service).split(" ").filter((word) => /^--[\w-]+=/.test(word));
  const command = options.runtime === "deno"
    ? [join(root, "node_modules/.bin/deno"), "run", ...denoFlags(given), "src/main.ts"]
    : [node, ...nodeFlags, await buildService(tree)];
  const name = tree === thisTree ? "service" : "service_other";
  return await startProgram(name, command, { cwd: tree.folder, env: given, listener });
}

/** Starts a program of `peers/`. */
export function startPeer(
  name: string,
  settings: Readonly<Record<string, string | number>>,
  args: readonly string[] = [],
): Promise<Program> {
  const env = Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]));
  return startProgram(name, [node, join(root, `scripts/bench/peers/${name}.mjs`), ...args], {
    env: { ...env, NODE_ENV: "production" },
  });
}

/** The memory of a process in MiB: `VmRSS` is resident, `VmHWM` the most that it ever had. */
export function memoryMiB(pid: number, name: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
}

/** Seconds of processor time of a process and of its children, those included that have ended. */
export function cpuSeconds(pid: number): number {
  const [own = 0, ended = 0] = ticks(pid);
  return (own + ended + childrenOf(pid).reduce((sum, child) => sum + (ticks(child.pid)[0] ?? 0), 0)) / 100;
}

/** Of a process, and of its children that have ended, in the kernel's hundredths of a second. */
function ticks(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // After the program's name in parentheses: utime, stime and those of ended children are the 12th to 15th field.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ").slice(11, 15).map(Number);
    const [user, system, endedUser, endedSystem] = fields as [number, number, number, number];
    return [user + system, endedUser + endedSystem];
  } catch {
    return [];
  }
}

/** Counts processor time from now on; the function it returns divides it by a count. */
export function meter(pids: Readonly<Record<string, number>>): (count: number, what: string) => Measures {
  const read = () => Object.entries(pids).map(([name, pid]): [string, number] => [name, cpuSeconds(pid)]);
  const before = new Map(read());
  return (count, what) =>
    Object.fromEntries(
      read().map((
        [name, seconds],
      ) => [`${name}, processor µs per ${what}`, (seconds - (before.get(name) ?? 0)) * 1e6 / count]),
    );
}
