/**
 * A process of the service as a child of `npm start`: on the same runtime, with its log forwarded, and stopped when the
 * parent dies.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { endGroup, postWatchdog } from "./watchdog.ts";

/** How to start a program. */
export interface ProgramOptions {
  /** For messages. */
  readonly name: string;
  /** The main module, relative to the repository. */
  readonly main: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Its permissions on Deno. */
  readonly denoFlags: readonly string[];
  /** Restarts it when a source file changes. */
  readonly watch: boolean;
  /** Receives the log in whole lines, because two programs share it. */
  readonly log: (text: string) => void;
  /** Called when it has exited, for whatever reason. */
  readonly onEnd: (end: { readonly code: number; readonly message: string }) => void;
}

/** A running or starting program. */
export interface Program {
  /**
   * Resolves to the URLs by surface once all listeners are open; never, if it exits before.
   */
  readonly started: Promise<ReadonlyMap<string, string>>;
  /** Lets requests in flight finish; resolves when it has exited. */
  stop(): Promise<void>;
  /** Kills it. */
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
    // Its own process group, so that Ctrl-C reaches only us.
    detached: true,
    env: options.environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Without a process id, the error event says why.
  if (child.pid !== undefined) postWatchdog(endGroup, { args: [String(child.pid)] });
  child.on("error", (error) => options.onEnd({ code: 1, message: error.message }));
  child.on("exit", (code, signal) => {
    const how = signal ?? `exit code ${code}`;
    options.onEnd({ code: code || 1, message: `${options.name} has exited (${how}).` });
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

/** Forwards the log and waits for `started`. */
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
      // It repeats after a restart in watch mode.
      if (entry.event === "started") started.resolve(addresses);
    }
  }).on("end", () => log(rest));
  return started.promise;
}

function readLogLine(line: string): Record<string, unknown> {
  // Cheap filter: most lines are requests.
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
  // Deno's watcher forwards SIGTERM and then waits for a file to change.
  child.kill(watch && process.versions.deno !== undefined ? "SIGKILL" : "SIGTERM");
  await ended;
  clearTimeout(impatience);
}
