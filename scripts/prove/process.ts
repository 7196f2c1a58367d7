/**
 * A process of the tree that is proved, started again whenever it ends, as systemd does it.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { signalProcess } from "../processes.ts";
import { nowMs, pause, waitFor } from "./clock.ts";

/** How to start it. */
export interface ProcessOptions {
  /** The folder of the tree. */
  readonly tree: string;
  /** The program and its arguments; asked anew for each start. */
  readonly command: () => readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Told of each end, also of those that were wanted. */
  readonly onEnd?: (
    end: {
      signal: "SIGTERM" | "SIGKILL" | null;
      atMs: number;
      endedAtMs: number;
      code: number | string;
      started: boolean;
    },
  ) => void;
  readonly onStart?: (atMs: number) => void;
}

// Between an end and the next start of what ended by itself: systemd waits longer, and no rule needs it.
const restartPauseMs = 200;

/** One process, over all of its lives. */
export class KeptProcess {
  readonly #options: ProcessOptions;
  #child: ChildProcess | null = null;
  #isWanted = false;
  #hasStarted = false;
  #told: { signal: "SIGTERM" | "SIGKILL"; atMs: number } | null = null;
  #running: Promise<void> = Promise.resolve();
  readonly #text: string[] = [];

  constructor(options: ProcessOptions) {
    this.#options = options;
  }

  /** What all of its lives have written. */
  get log(): string {
    return this.#text.join("");
  }

  /** Whether it runs and has said that it has started. */
  get isUp(): boolean {
    return this.#child !== null && this.#hasStarted && this.#told === null;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Starts it and keeps it running; returns when it is up, or `false` when that takes too long. */
  async start(deadlineMs = 60_000): Promise<boolean> {
    this.#isWanted = true;
    if (this.#child === null) this.#running = this.#live();
    return await waitFor(() => this.isUp, { deadlineMs }) ?? false;
  }

  async #live(): Promise<void> {
    while (this.#isWanted) {
      await this.#oneLife();
      if (this.#isWanted && this.#told === null) await pause(restartPauseMs);
      this.#told = null;
    }
  }

  async #oneLife(): Promise<void> {
    const { tree, command, env, onEnd, onStart } = this.#options;
    // It ends with this process, however that ends.
    const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", ...command()], {
      cwd: tree,
      env: {
        PATH: process.env.PATH ?? "/usr/bin:/bin",
        HOME: process.env.HOME ?? "/",
        NO_COLOR: "1",
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    this.#hasStarted = false;
    const take = (text: string) => {
      this.#text.push(text);
      if (!this.#hasStarted && text.includes('"event":"started"')) {
        this.#hasStarted = true;
        onStart?.(nowMs());
      }
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    const code = await new Promise<number | string>((settle) => {
      child.once("error", (error) => settle(error.message));
      child.once("close", (status, signal) => settle(status ?? signal ?? "unknown"));
    });
    this.#child = null;
    const { signal = null, atMs = nowMs() } = this.#told ?? {};
    onEnd?.({ signal, atMs, endedAtMs: nowMs(), code, started: this.#hasStarted });
  }

  /** Signals it, without waiting. */
  signal(signal: NodeJS.Signals): void {
    if (this.#child?.pid !== undefined) signalProcess(this.#child.pid, signal);
  }

  /** Ends it with a signal; it is started again. Returns when that one is up. */
  async end(signal: "SIGTERM" | "SIGKILL", deadlineMs = 60_000): Promise<boolean> {
    const child = this.#child;
    if (child !== null) {
      this.#told = { signal, atMs: nowMs() };
      this.signal(signal);
      if (signal === "SIGTERM") {
        const gone = await waitFor(() => this.#child !== child, { deadlineMs: 40_000 });
        if (gone === null) this.signal("SIGKILL");
      }
      await waitFor(() => this.#child !== child, { deadlineMs: 10_000, everyMs: 5 });
    }
    return await waitFor(() => this.isUp, { deadlineMs }) ?? false;
  }

  /** Ends it for good. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGKILL"): Promise<void> {
    this.#isWanted = false;
    if (this.#child === null) return;
    this.#told = { signal, atMs: nowMs() };
    this.signal("SIGCONT");
    this.signal(signal);
    const timer = setTimeout(() => this.signal("SIGKILL"), 40_000);
    await this.#running;
    clearTimeout(timer);
  }
}
