/** Runs the service or the actions process as a child of `npm start`, on the same runtime, until the parent ends. */

import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { startWatchdog, stopGroupScript } from "./watchdog.ts";

export interface ProgramOptions {
  /** The name in messages. */
  readonly name: string;
  /** The main module's path in the repository. */
  readonly main: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The permission flags for Deno. */
  readonly denoFlags: readonly string[];
  /** Whether to restart the program when a source file changes. */
  readonly watch: boolean;
  /** Receives the log in whole lines, because two programs share its destination. */
  readonly log: (text: string) => void;
  /** Called when the program has exited, for any reason. */
  readonly onEnd: (end: { readonly code: number; readonly message: string }) => void;
}

/** A running or starting program. */
export interface Program {
  /** Resolves to the URLs by surface once all listeners are open; never resolves if the program exits first. */
  readonly started: Promise<ReadonlyMap<string, string>>;
  /** Lets requests in flight finish; resolves when the program has exited. */
  stop(): Promise<void>;
  kill(): void;
}

const root = fileURLToPath(new URL("../", import.meta.url));

/** The time limit for a stop, during which in-flight requests have 20 s (DECISIONS, Operating it). */
const stopTimeoutMs = 25_000;

export function startProgram(options: ProgramOptions): Program {
  const [command = "", ...args] = programCommand(options);
  const child = spawn(command, args, {
    cwd: root,
    // The program has its own process group, so that Ctrl-C reaches only this process.
    detached: true,
    env: options.environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  // If there is no process id, the error event reports the cause.
  if (child.pid !== undefined) startWatchdog(stopGroupScript, { args: [String(child.pid)] });
  child.on("error", (error) => options.onEnd({ code: 1, message: error.message }));
  child.on("exit", (code, signal) => {
    const reason = signal ?? `exit code ${code}`;
    options.onEnd({ code: code || 1, message: `${options.name} has exited (${reason}).` });
  });
  return {
    started: forwardLog(child, options.log),
    stop: () => stop(child, options.watch),
    kill: () => void child.kill("SIGKILL"),
  };
}

function programCommand({ main, denoFlags, watch }: ProgramOptions): string[] {
  if (process.versions.deno !== undefined) {
    return [process.execPath, "run", ...(watch ? ["--watch"] : []), ...denoFlags, main];
  }
  if (!watch) return [process.execPath, main];
  return [process.execPath, createRequire(import.meta.url).resolve("tsx/cli"), "watch", main];
}

/** Forwards the log and waits for the event `started`. */
function forwardLog(child: ChildProcess, log: ProgramOptions["log"]): Promise<ReadonlyMap<string, string>> {
  const addresses = new Map<string, string>();
  const started = Promise.withResolvers<ReadonlyMap<string, string>>();
  let incompleteLine = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    const lines = (incompleteLine + text).split("\n");
    incompleteLine = lines.pop() ?? "";
    if (lines.length > 0) log(`${lines.join("\n")}\n`);
    for (const line of lines) {
      const entry = readLogLine(line);
      if (entry.event === "listening") addresses.set(String(entry.surface), String(entry.url));
      // After a restart in watch mode, the event occurs again and has no effect.
      if (entry.event === "started") started.resolve(addresses);
    }
  }).on("end", () => log(incompleteLine));
  return started.promise;
}

function readLogLine(line: string): Record<string, unknown> {
  // Most lines are requests, which need no parsing.
  if (!/"event":"(listening|started)"/.test(line)) return {};
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}

async function stop(child: ChildProcess, watch: boolean): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  // After SIGTERM, Deno's watcher would stop the program and then wait for a file to change.
  child.kill(watch && process.versions.deno !== undefined ? "SIGKILL" : "SIGTERM");
  await ended;
  clearTimeout(timer);
}
