/**
 * A process of the service as a child of `npm start`: started on the runtime that runs this script, its log passed on,
 * and ended when we end, however that happens.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { endGroup, postWatchdog } from "./watchdog.ts";

/** What is started, and how. */
export interface ProgramOptions {
  /** As a message names it. */
  readonly name: string;
  /** Its main module, below the repository's folder. */
  readonly main: string;
  readonly environment: Readonly<Record<string, string>>;
  /** What it may do when it runs on Deno. */
  readonly denoFlags: readonly string[];
  /** Starts it again when a source file changes. */
  readonly watch: boolean;
  /** Takes the log, in whole lines, because two programs share it. */
  readonly log: (text: string) => void;
  /** Told when it has ended, whoever ended it. */
  readonly onEnd: (end: { readonly code: number; readonly message: string }) => void;
}

/** A program that runs, or has begun to. */
export interface Program {
  /**
   * Settles when all its listeners are open, with the address of each by its surface; never, when it ends before.
   */
  readonly started: Promise<ReadonlyMap<string, string>>;
  /** Lets it finish what is under way, and returns when it is gone. */
  stop(): Promise<void>;
  /** Ends it at once. */
  kill(): void;
}

const root = fileURLToPath(new URL("../", import.meta.url));

/** In-flight requests have 20 s (DECISIONS, Operating it). */
const stopTimeoutMs = 25_000;

/** Flags of every Node process that runs a program. */
const nodeFlags: readonly string[] = [];

/** Starts a program. */
export function startProgram(options: ProgramOptions): Program {
  const [command = "", ...args] = commandOf(options);
  const child = spawn(command, args, {
    cwd: root,
    // In a group of its own: Ctrl-C reaches us first, and the program gets it once.
    detached: true,
    env: options.environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Without a process id there is nothing to watch over: the error says why.
  if (child.pid !== undefined) postWatchdog(endGroup, { args: [String(child.pid)] });
  child.on("error", (error) => options.onEnd({ code: 1, message: error.message }));
  child.on("exit", (code, signal) => {
    const how = signal ?? `exit code ${code}`;
    options.onEnd({ code: code || 1, message: `${options.name} has ended (${how}).` });
  });
  return {
    started: passOn(child, options.log),
    stop: () => stop(child, options.watch),
    kill: () => void child.kill("SIGKILL"),
  };
}

function commandOf({ main, denoFlags, watch }: ProgramOptions): string[] {
  if (process.versions.deno !== undefined) {
    return [process.execPath, "run", ...(watch ? ["--watch"] : []), ...denoFlags, main];
  }
  const command = [process.execPath, ...nodeFlags];
  if (!watch) return [...command, main];
  return [...command, createRequire(import.meta.url).resolve("tsx/cli"), "watch", main];
}

/** Passes the log on, and listens for `started`. */
function passOn(child: ChildProcess, log: ProgramOptions["log"]): Promise<ReadonlyMap<string, string>> {
  const addresses = new Map<string, string>();
  const started = Promise.withResolvers<ReadonlyMap<string, string>>();
  let rest = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) log(`${lines.join("\n")}\n`);
    for (const line of lines) {
      const entry = readLogLine(line);
      if (entry.event === "listening") addresses.set(String(entry.surface), String(entry.url));
      // After a change in watch mode it comes again.
      if (entry.event === "started") started.resolve(addresses);
    }
  }).on("end", () => log(rest));
  return started.promise;
}

function readLogLine(line: string): Record<string, unknown> {
  // Most lines are requests.
  if (!/"event":"(listening|started)"/.test(line)) return {};
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}

async function stop(child: ChildProcess, watch: boolean): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((settle) => child.once("exit", settle));
  const impatience = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  // Deno's watcher passes SIGTERM on, and then waits for a file to change.
  child.kill(watch && process.versions.deno !== undefined ? "SIGKILL" : "SIGTERM");
  await ended;
  clearTimeout(impatience);
}
