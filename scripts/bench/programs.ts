/** Runs a benchmark's processes, which end with the benchmark, and measures their resource use. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { denoFlags } from "../deno_flags.ts";
import { variables } from "../../src/settings/variables.ts";
import { childrenOf } from "../processes.ts";
import { startWatchdog } from "../watchdog.ts";

/** A process's environment, in addition to `PATH` and `HOME`. */
type Environment = Readonly<Record<string, string | undefined>>;

/** A round's figures, keyed by their name and unit. */
export type Measures = Readonly<Record<string, number>>;

export interface Program {
  readonly pid: number;
  /** The URLs by listener. */
  readonly urls: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Stops the process; resolves when it has exited. */
  stop(): Promise<void>;
}

export interface Checkout {
  readonly name: string;
  readonly folder: string;
}

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The folder for a benchmark's files. */
export const buildFolder = join(root, "build/bench");

/** The Node for the peers, even if Deno runs the benchmark. */
export const node = process.versions.deno === undefined
  ? process.execPath
  : join(root, "node_modules/.bin/node");

/** The checkout that contains this file. */
export const thisCheckout: Checkout = { name: "this checkout", folder: root };

const startTimeoutMs = 20_000;
const stopTimeoutMs = 25_000;
/** How often a log is read. */
const pollMs = 5;

/** Prints to standard error; standard output is for results. */
export function logProgress(line: string): void {
  process.stderr.write(`${line}\n`);
}

const environment = (env: Environment = {}) => ({ PATH: process.env.PATH, HOME: process.env.HOME, ...env });

/**
 * Runs a process and returns its standard output.
 *
 * @throws {Error} with the process's standard error, if it fails or runs longer than `timeoutMs`
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
 * Opens another checkout: a folder, or a commit, which is checked out into the build folder with this checkout's packages.
 */
export async function openCheckout(reference: string): Promise<Checkout> {
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
 * Starts a process and waits for `"event":"started"` in its log, or, with `listener`, until that surface listens. The
 * peers log the same events.
 *
 * @throws {Error} with the end of the process's log, if it does not start
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
  child.once("error", (error) => logProgress(error.message));
  if (child.pid !== undefined) {
    const watchdog = startWatchdog('kill -KILL "$1"', { args: [String(child.pid)] });
    child.once("exit", () => watchdog.dismiss());
  }
  const startMark = listener === undefined ? '"event":"started"' : `"surface":"${listener}"`;
  const deadlineMs = performance.now() + startTimeoutMs;
  while (true) {
    // The end is checked before the log is read, so that no line is missed.
    const failed = hasEnded(child) || performance.now() > deadlineMs;
    const lines = readFileSync(logFile, "utf8").split("\n");
    if (lines.slice(0, -1).some((line) => line.includes(startMark))) {
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
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  child.kill("SIGTERM");
  await exited;
  clearTimeout(timer);
}

const settings = (pattern: RegExp, value: string) =>
  Object.fromEntries(
    Object.keys(variables).filter((name) => pattern.test(name)).map((name) => [name, value]),
  );

/** Settings with limits that refuse nothing, and with a free port for each surface. */
const benchSettings = {
  ...settings(/_(PER_MINUTE|BURST)$/, "999999999"),
  ...settings(/_LISTEN$/, "127.0.0.1:0"),
};

const building = new Map<string, Promise<unknown>>();

/** Builds the bundled service once per run and returns its path in the checkout. */
export async function buildService({ folder }: Checkout): Promise<string> {
  const built = building.get(folder) ?? run(node, ["scripts/build.ts"], { cwd: folder, timeoutMs: 60_000 });
  building.set(folder, built);
  await built;
  return "build/programs/service.js";
}

/** Starts a checkout's service: on Node, bundled and with the flags of `npm run service`; on Deno, from its sources. */
export async function startService(
  { checkout, options }: {
    readonly checkout: Checkout;
    readonly options: { readonly runtime: "node" | "deno" };
  },
  env: Readonly<Record<string, string>>,
  listener?: string,
): Promise<Program> {
  const given = { ...benchSettings, ...env };
  const { scripts } = JSON.parse(readFileSync(join(checkout.folder, "package.json"), "utf8"));
  const nodeFlags = String(scripts.service).split(" ").filter((word) => /^--[\w-]+=/.test(word));
  const command = options.runtime === "deno"
    ? [join(root, "node_modules/.bin/deno"), "run", ...denoFlags(given), "src/main.ts"]
    : [node, ...nodeFlags, await buildService(checkout)];
  const name = checkout === thisCheckout ? "service" : "service_other";
  return await startProgram(name, command, { cwd: checkout.folder, env: given, listener });
}

/** Starts a program from `peers/`. */
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

/** Returns a process's memory in MiB: `VmRSS` is the resident memory, `VmHWM` its peak. */
export function memoryMiB(pid: number, name: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
}

/** Returns the processor seconds of a process and its children, including those that have exited. */
export function cpuSeconds(pid: number): number {
  const [own = 0, ended = 0] = ticks(pid);
  return (own + ended + childrenOf(pid).reduce((sum, child) => sum + (ticks(child.pid)[0] ?? 0), 0)) / 100;
}

/** Returns the processor time of a process and of its exited children, in clock ticks of 10 ms. */
function ticks(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // Fields 12 to 15 after the parenthesized name: utime, stime, cutime, cstime.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ").slice(11, 15).map(Number);
    const [user, system, endedUser, endedSystem] = fields as [number, number, number, number];
    return [user + system, endedUser + endedSystem];
  } catch {
    return [];
  }
}

/** Starts counting processor time. The returned function divides the time since then by a count. */
export function startCpuMeter(
  pids: Readonly<Record<string, number>>,
): (count: number, what: string) => Measures {
  const read = () => Object.entries(pids).map(([name, pid]): [string, number] => [name, cpuSeconds(pid)]);
  const before = new Map(read());
  return (count, what) =>
    Object.fromEntries(
      read().map((
        [name, seconds],
      ) => [`${name}, processor µs per ${what}`, (seconds - (before.get(name) ?? 0)) * 1e6 / count]),
    );
}
