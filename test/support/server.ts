/** The service as its users meet it: the whole program in a process of its own, on ports of its choice. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { denoFlags } from "../../src/settings/deno_flags.ts";
import { listeners } from "../../scripts/listeners.ts";
import { atEnd } from "./at_end.ts";
import { type HandedSocket, handOver } from "./handed_socket.ts";
import { until } from "./until.ts";
import { inherited } from "./environment.ts";

/** What runs the server under test. */
export type Runtime = "node" | "deno";

/** How to start a program of the repository. */
export interface ProgramOptions {
  readonly databaseUrl?: string;
  /** Settings on top; nothing is taken over from the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
  /** Instead of `src/main.ts`. */
  readonly program?: string;
  /** Left out: `SUITE_RUNTIME`, which `npm test` sets, or else Node. */
  readonly runtime?: Runtime;
  /** Left out: a minute, as of {@linkcode until}. */
  readonly startTimeoutMs?: number;
  /** Listening sockets that it is handed. */
  readonly sockets?: readonly HandedSocket[];
  /** A file that the program alone finds in the place of /etc/hosts (Linux, as root). */
  readonly hostsFile?: string;
}

/** One JSON line of the server's standard output. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly event?: string };

/** A server that listens. */
export interface RunningServer {
  /** The base address of the intake. */
  readonly url: string;
  /** The base address of each surface by its name. */
  readonly urls: Readonly<Record<string, string>>;
  readonly pid: number;
  /** What it has logged, so far; a line that is no JSON has the event `unparsed`. */
  readonly logs: readonly LogLine[];
  /** Both outputs as text, so far. */
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** Settles with the exit code, or with the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Asks it to stop (SIGTERM) and returns the exit code. */
  stop(): Promise<number | NodeJS.Signals>;
  kill(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

/** How a program ended and what it said. */
export interface Outcome {
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const deno = realpathSync(`${root}node_modules/.bin/deno`);

/** The runtime that this run of the tests is about. */
export const suiteRuntime: Runtime = process.env.SUITE_RUNTIME === "deno" ? "deno" : "node";

/** Every listener on a port of the system's choice. */
const anyPort = Object.fromEntries(listeners({}).map(({ variable }) => [variable, "127.0.0.1:0"]));

function run(script: string, args: readonly string[], options: ProgramOptions) {
  const onDeno = (options.runtime ?? suiteRuntime) === "deno";
  const command = onDeno ? deno : process.execPath;
  const prefix = onDeno ? ["run", ...denoFlags(options.env)] : [];
  const { prefix: handing, descriptors } = handOver(options.sockets ?? []);
  const [program = command, ...line] = [
    ...inPlaceOfHosts(options.hostsFile),
    ...handing,
    ...[command, ...prefix, script, ...args],
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
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => output.stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => output.stderr += text);
  const ended = new Promise<number | NodeJS.Signals>((settle, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => settle(code ?? signal ?? 1));
  });
  // Whoever awaits it gets the error; nobody has to.
  ended.catch(() => {});
  return { child, output, ended };
}

// In a mount namespace of its own; the shell gives way to the program, which keeps its process id.
function inPlaceOfHosts(file: string | undefined): string[] {
  if (file === undefined) return [];
  const script = 'mount --bind "$0" /etc/hosts && exec "$@"';
  return ["unshare", "--mount", "sh", "-c", script, file];
}

/** Runs a program of the repository to its end. */
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
 * Starts `src/main.ts` and returns when all its listeners are open.
 *
 * @throws {Error} with what it printed, when it ends first
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

/** Runs the operator's command as it is and returns how it ended. */
export function runCtl(args: readonly string[], options: ProgramOptions): Promise<Outcome> {
  return runToEnd("scripts/ctl.ts", args, { runtime: "node", ...options });
}

/**
 * Runs the operator's command with `--json` and returns the document that it prints.
 *
 * @throws {Error} with what it said, when it does not exit with 0
 */
// deno-lint-ignore no-explicit-any
export async function ctl(args: readonly string[], options: ProgramOptions): Promise<any> {
  const { code, stdout, stderr } = await runCtl([...args, "--json"], options);
  if (code !== 0) throw new Error(`ctl ${args.join(" ")} exited with ${code}: ${stderr || stdout}`);
  return JSON.parse(stdout);
}
