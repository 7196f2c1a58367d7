/** Runs the service's programs as separate processes on free ports. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { actionsDenoFlags, denoFlags } from "../../scripts/deno_flags.ts";
import { listeners } from "../../scripts/listeners.ts";
import { atEnd } from "./at_end.ts";
import { type HandedSocket, handOver } from "./handed_socket.ts";
import { collect } from "./output.ts";
import { until } from "./until.ts";
import { inherited } from "./environment.ts";

/** The runtime of the server under test. */
export type Runtime = "node" | "deno";

/** Options of a program of the repository. */
export interface ProgramOptions {
  readonly databaseUrl?: string;
  /** Additional settings; the tests' own environment is not inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** Instead of `src/main.ts`. */
  readonly program?: string;
  /** Default: `SUITE_RUNTIME`, which `npm test` sets, or else Node. */
  readonly runtime?: Runtime;
  /** Default: a minute, as in {@linkcode until}. */
  readonly startTimeoutMs?: number;
  /** Listening sockets to pass to the program. */
  readonly sockets?: readonly HandedSocket[];
  /** A file that replaces /etc/hosts for the program only (Linux, as root). */
  readonly hostsFile?: string;
}

/** One JSON line of the server's standard output. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly event?: string };

/** A running server. */
export interface RunningServer {
  /** The intake's base address. */
  readonly url: string;
  /** The base address of each surface by name. */
  readonly urls: Readonly<Record<string, string>>;
  readonly pid: number;
  /** The log so far; a line that is not JSON has the event `unparsed`. */
  readonly logs: readonly LogLine[];
  /** The output of both streams so far, as text. */
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** Resolves with the exit code, or with the signal that killed it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | NodeJS.Signals>;
  kill(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

/** The output and exit code of a program. */
export interface Outcome {
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const deno = realpathSync(`${root}node_modules/.bin/deno`);

/** The runtime under test in this run. */
export const suiteRuntime: Runtime = process.env.SUITE_RUNTIME === "deno" ? "deno" : "node";

/** Every listener on a free port. */
const anyPort = Object.fromEntries(listeners({}).map(({ variable }) => [variable, "127.0.0.1:0"]));

function run(script: string, args: readonly string[], options: ProgramOptions) {
  const onDeno = (options.runtime ?? suiteRuntime) === "deno";
  const command = onDeno ? deno : process.execPath;
  const flags = script === "src/actions/main.ts" ? actionsDenoFlags : denoFlags;
  const prefix = onDeno ? ["run", ...flags(options.env)] : [];
  const { prefix: handing, descriptors } = handOver(options.sockets ?? []);
  const [program = command, ...line] = [
    ...inPlaceOfHosts(options.hostsFile),
    ...handing,
    command,
    ...prefix,
    script,
    ...args,
  ];
  const stdio: ["ignore", "pipe", "pipe", ...number[]] = ["ignore", "pipe", "pipe", ...descriptors];
  const child = spawn(program, line, {
    cwd: root,
    stdio,
    env: {
      ...inherited,
      NO_COLOR: "1",
      ...anyPort,
      ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
      ...options.env,
    },
  }) as ChildProcessByStdio<null, Readable, Readable>;
  return { child, ...collect(child) };
}

// In a mount namespace; the shell is replaced by the program, which keeps its process id.
function inPlaceOfHosts(file: string | undefined): string[] {
  if (file === undefined) return [];
  const script = 'mount --bind "$0" /etc/hosts && exec "$@"';
  return ["unshare", "--mount", "sh", "-c", script, file];
}

/** Runs a program of the repository until it exits. */
export async function runToEnd(
  script: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<Outcome> {
  const { output, ended } = run(script, args, options);
  const code = await ended;
  return { code, ...output };
}

/**
 * Starts `src/main.ts` and returns once all its listeners are open.
 *
 * @throws {Error} with its output, when it exits first
 */
export async function startServer(options: ProgramOptions): Promise<RunningServer> {
  const { child, output, ended } = run(options.program ?? "src/main.ts", [], options);
  atEnd(() => child.kill("SIGKILL"));
  const logs: LogLine[] = [];
  const urls: Record<string, string> = {};
  let rest = "";
  child.stdout.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const entry = parseLine(line);
      if (entry.event === "listening") urls[String(entry.surface)] = String(entry.url);
      logs.push(entry);
    }
  });
  let exit: number | NodeJS.Signals | undefined;
  ended.then((code) => exit = code, () => exit = 1);

  const stopWith = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return await ended;
  };
  try {
    await until(() => {
      if (exit !== undefined) return true;
      return logs.some((entry) => entry.event === "started");
    }, {
      what: "the server listens",
      ...options.startTimeoutMs === undefined ? {} : { deadlineMs: options.startTimeoutMs },
    });
  } catch (error) {
    await stopWith("SIGKILL");
    throw new Error(`${String(error)}\n${output.stdout}${output.stderr}`);
  }
  if (exit !== undefined) {
    throw new Error(`The server ended (${exit}) before it listened:\n${output.stdout}${output.stderr}`);
  }
  return {
    get url() {
      return urls.intake ?? "";
    },
    urls,
    pid: child.pid ?? 0,
    logs,
    output,
    ended,
    stop: () => stopWith("SIGTERM"),
    kill: (signal = "SIGKILL") => stopWith(signal),
  };
}

function parseLine(line: string): LogLine {
  try {
    return JSON.parse(line);
  } catch {
    return { event: "unparsed", text: line };
  }
}

/** Runs `ctl` and returns its output and exit code. */
export function runCtl(args: readonly string[], options: ProgramOptions): Promise<Outcome> {
  return runToEnd("scripts/ctl.ts", args, { runtime: "node", ...options });
}

/**
 * Runs `ctl` with `--json` and returns the printed document.
 *
 * @throws {Error} with its output, when the exit code is not 0
 */
// deno-lint-ignore no-explicit-any
export async function ctl(args: readonly string[], options: ProgramOptions): Promise<any> {
  const { code, stdout, stderr } = await runCtl([...args, "--json"], options);
  if (code !== 0) throw new Error(`ctl ${args.join(" ")} exited with ${code}: ${stderr || stdout}`);
  return JSON.parse(stdout);
}
