/**
 * Runs a process of the tested tree and restarts it whenever it exits, as systemd does.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { signalProcess } from "../processes.ts";
import { nowMs, pause, waitFor } from "./clock.ts";

export interface ProcessOptions {
  /** The tree's folder. */
  readonly tree: string;
  /** Returns the program and its arguments for the next start. */
  readonly command: () => readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Called at each exit, including intended ones. */
  readonly onEnd?: (
    end: {
      signal: "SIGTERM" | "SIGKILL" | null;
      atMs: number;
      endedAtMs: number;
      code: number | string;
      hasStarted: boolean;
    },
  ) => void;
  readonly onStart?: (atMs: number) => void;
}

// The pause before restarting a process that exited on its own; systemd waits longer.
const restartPauseMs = 200;
// Longer than a process takes to start on a busy machine.
const startMs = 240_000;

/** One process across its restarts. */
export class SupervisedProcess {
  readonly #options: ProcessOptions;
  #child: ChildProcess | null = null;
  #isWanted = false;
  #hasStarted = false;
  #sentSignal: { signal: "SIGTERM" | "SIGKILL"; atMs: number } | null = null;
  #running: Promise<void> = Promise.resolve();
  readonly #text: string[] = [];

  constructor(options: ProcessOptions) {
    this.#options = options;
  }

  /** The output since the first start. */
  get log(): string {
    return this.#text.join("");
  }

  /** Whether the process has logged that it started, and no signal to end it was sent. */
  get isUp(): boolean {
    return this.#child !== null && this.#hasStarted && this.#sentSignal === null;
  }

  /** Starts the process and keeps it running; returns whether it was up in time. */
  async start(deadlineMs = startMs): Promise<boolean> {
    this.#isWanted = true;
    if (this.#child === null) this.#running = this.#runUntilStopped();
    return await waitFor(() => this.isUp, { deadlineMs }) ?? false;
  }

  async #runUntilStopped(): Promise<void> {
    while (this.#isWanted) {
      await this.#runOnce();
      if (this.#isWanted && this.#sentSignal === null) await pause(restartPauseMs);
      this.#sentSignal = null;
    }
  }

  async #runOnce(): Promise<void> {
    const { tree, command, env, onEnd, onStart } = this.#options;
    const { PATH = "/usr/bin:/bin", HOME = "/" } = process.env;
    // The kernel kills the child when this process ends for any reason.
    const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", ...command()], {
      cwd: tree,
      env: { PATH, HOME, NO_COLOR: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    this.#hasStarted = false;
    const append = (text: string) => {
      this.#text.push(text);
      if (!this.#hasStarted && text.includes('"event":"started"')) {
        this.#hasStarted = true;
        onStart?.(nowMs());
      }
    };
    child.stdout.setEncoding("utf8").on("data", append);
    child.stderr.setEncoding("utf8").on("data", append);
    const code = await new Promise<number | string>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("close", (status, signal) => resolve(status ?? signal ?? "unknown"));
    });
    this.#child = null;
    const { signal = null, atMs = nowMs() } = this.#sentSignal ?? {};
    onEnd?.({ signal, atMs, endedAtMs: nowMs(), code, hasStarted: this.#hasStarted });
  }

  /** Sends a signal without waiting. */
  signal(signal: NodeJS.Signals): void {
    if (this.#child?.pid !== undefined) signalProcess(this.#child.pid, signal);
  }

  /** Ends the process with a signal; returns whether it was up again in time. */
  async end(signal: "SIGTERM" | "SIGKILL", deadlineMs = startMs): Promise<boolean> {
    const child = this.#child;
    if (child !== null) {
      this.#sentSignal = { signal, atMs: nowMs() };
      this.signal(signal);
      if (signal === "SIGTERM") {
        const hasExited = await waitFor(() => this.#child !== child, { deadlineMs: 40_000 });
        if (hasExited === null) this.signal("SIGKILL");
      }
      await waitFor(() => this.#child !== child, { deadlineMs: 10_000, everyMs: 5 });
    }
    return await waitFor(() => this.isUp, { deadlineMs }) ?? false;
  }

  /** Ends the process without a restart. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGKILL"): Promise<void> {
    this.#isWanted = false;
    if (this.#child === null) return;
    this.#sentSignal = { signal, atMs: nowMs() };
    this.signal("SIGCONT");
    this.signal(signal);
    const timer = setTimeout(() => this.signal("SIGKILL"), 40_000);
    await this.#running;
    clearTimeout(timer);
  }
}
