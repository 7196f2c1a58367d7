/**
 * Runs the commands of `scripts/test.ts` side by side, each in a process group of its own that ends with it: whatever
 * a test has left running, and a test that hangs with everything it has started.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { performance } from "node:perf_hooks";
import { signalProcess } from "./processes.ts";
import { endGroup, postWatchdog } from "./watchdog.ts";

/** A command, and when it may run. */
export interface Job {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Jobs of one line run one after another; those of none wherever there is room. */
  readonly line?: string;
  /** Something that changes while the command comes forward; left out: its output. */
  readonly progress?: () => unknown;
}

/** How a command ended. */
export interface Ended {
  /** Why it failed; `undefined` when it passed. */
  readonly fault: string | undefined;
  /** Both outputs. */
  readonly output: string;
  readonly durationMs: number;
}

/** How many at once, and for how long. */
export interface JobsOptions {
  /** Besides the lines. */
  readonly roomFor: number;
  /** A command that has not come forward for so long hangs. */
  readonly stillMsMax: number;
}

/** Between the signal that asks a group to end and the one that ends it. */
const graceMs = 10_000;

/** All that are to run, in their order. */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #waiting: { readonly job: Job; readonly start: () => Promise<void> }[] = [];
  readonly #groups = new Set<number>();
  /** How many run by line; those without one have the line "". */
  readonly #running = new Map<string, number>();
  #stopping = false;

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  /** Runs a command when there is room for it. */
  run(job: Job): Promise<Ended> {
    return new Promise((settle) => {
      this.#waiting.push({ job, start: async () => settle(await this.#start(job)) });
      this.#fill();
    });
  }

  /** Ends those that run, in order the first time, at once the second time; no other begins. */
  stop(): void {
    for (const group of this.#groups) signalProcess(-group, this.#stopping ? "SIGKILL" : "SIGTERM");
    if (!this.#stopping) setTimeout(() => this.stop(), graceMs).unref();
    this.#stopping = true;
  }

  #fill(): void {
    const next = this.#waiting.findIndex(({ job: { line = "" } }) =>
      (this.#running.get(line) ?? 0) < (line === "" ? this.#options.roomFor : 1)
    );
    const [entry] = next < 0 ? [] : this.#waiting.splice(next, 1);
    if (entry === undefined) return;
    const { line = "" } = entry.job;
    this.#running.set(line, (this.#running.get(line) ?? 0) + 1);
    void entry.start().then(() => {
      this.#running.set(line, (this.#running.get(line) ?? 0) - 1);
      this.#fill();
    });
    this.#fill();
  }

  async #start({ command, args, cwd, env, progress }: Job): Promise<Ended> {
    const startMs = performance.now();
    if (this.#stopping) return { fault: "stopped", output: "", durationMs: 0 };
    const child = spawn(command, args, {
      cwd,
      // The leader of a group, to which all belongs that it starts.
      detached: true,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => output += text);
    }
    const fault = await this.#untilEnded(child, progress ?? (() => output.length));
    return { fault, output, durationMs: performance.now() - startMs };
  }

  async #untilEnded(child: ChildProcess, progress: () => unknown): Promise<string | undefined> {
    const group = child.pid;
    const closed = new Promise<void>((settle) => child.once("close", () => settle()));
    const exited = new Promise<string | undefined>((settle) => {
      child.once("error", (error) => settle(error.message));
      child.once("exit", (code, signal) => settle(code === 0 ? undefined : signal ?? `exit code ${code}`));
    });
    if (group === undefined) return await exited;
    this.#groups.add(group);
    const watchdog = postWatchdog(endGroup, { args: [String(group)] });
    const watch = this.#watch(group, progress);
    const fault = await exited;
    const hung = watch.stop();
    // What it has left; a group whose leader has ended still has its number.
    signalProcess(-group, "SIGKILL");
    watchdog.dismiss();
    this.#groups.delete(group);
    // Somebody in a session of his own may hold the output open.
    await Promise.race([closed, new Promise((settle) => setTimeout(settle, 1_000).unref())]);
    return hung ?? fault;
  }

  /** Ends a group that does not come forward; then `stop` says so. */
  #watch(group: number, progress: () => unknown): { stop(): string | undefined } {
    const { stillMsMax } = this.#options;
    let hung: string | undefined;
    let last: unknown;
    let sinceMs = performance.now();
    const timer = setInterval(() => {
      const now = progress();
      if (now !== last) sinceMs = performance.now();
      last = now;
      const stillMs = performance.now() - sinceMs;
      if (stillMs < stillMsMax) return;
      // The first signal lets it name the test that hangs.
      signalProcess(-group, stillMs < stillMsMax + graceMs ? "SIGTERM" : "SIGKILL");
      hung = `ended after ${Math.round(stillMsMax / 1000)} s without any progress`;
    }, Math.min(1_000, stillMsMax / 4));
    return {
      stop: () => {
        clearInterval(timer);
        return hung;
      },
    };
  }
}
