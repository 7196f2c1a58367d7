/** A worker thread that runs one job at a time, and is ended and replaced when a job takes too long. */

import process from "node:process";
import { Worker } from "node:worker_threads";

export interface ThreadOptions {
  /** The thread's program: it posts {@linkcode ready}, and then one message for each job. */
  readonly program: URL;
  /** The processor time that a job may take, so that a busy machine ends no thread. */
  readonly deadlineMs: number;
  /** The thread's memory beyond its code; a thread that needs more ends. */
  readonly heapMbMax: number;
  readonly clocks: Clocks;
}

export interface Clocks {
  /** The monotonic time. */
  readonly monotonicMs: () => number;
  /** The processor time of the process, with all its threads. */
  readonly processorMs: () => number;
}

export const clocks: Clocks = {
  monotonicMs: () => performance.now(),
  processorMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
};

/** What a thread posts when it can take a job. */
export const ready = "ready";
// For loading the program on a busy machine.
const startMsMax = 20_000;
// However busy the machine is.
const wallMsMax = 5_000;

/** Starts its thread when it is first needed; an idle thread does not keep the process running. */
export class DeadlineThread<Job, Result> {
  readonly #options: ThreadOptions;
  #worker: Worker | null = null;
  #isReady = false;
  #job: Job | null = null;
  #onResult: ((result: Result) => void) | null = null;
  #onEnded: ((why: string) => void) | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  /** Runs a job; calls one of the two functions once. The previous job must have ended. */
  run(job: Job, onResult: (result: Result) => void, onEnded: (why: string) => void): void {
    this.#job = job;
    this.#onResult = onResult;
    this.#onEnded = onEnded;
    this.#worker ??= this.#start();
    if (this.#isReady) return this.#post();
    this.#timer = setTimeout(() => this.#end(`Its thread did not start in ${startMsMax} ms`), startMsMax);
  }

  stop(): void {
    clearTimeout(this.#timer);
    void this.#worker?.terminate();
    this.#worker = null;
  }

  #start(): Worker {
    const { program, heapMbMax } = this.#options;
    const resourceLimits = { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: 4, stackSizeMb: 2 };
    const worker = new Worker(program, { resourceLimits, env: {} });
    this.#isReady = false;
    worker.on("message", (message: Result | typeof ready) => {
      if (worker !== this.#worker) return;
      clearTimeout(this.#timer);
      if (message !== ready) return this.#finish(message as Result);
      this.#isReady = true;
      this.#post();
    });
    worker.on("error", (error) => {
      const { code, message } = error as { readonly code?: string; readonly message: string };
      if (worker === this.#worker) this.#end(`It ended its thread: ${code ?? message}`);
    });
    worker.unref();
    return worker;
  }

  #post(): void {
    if (this.#job === null) return;
    this.#worker?.postMessage(this.#job);
    this.#job = null;
    clearTimeout(this.#timer);
    const { deadlineMs, clocks: { monotonicMs, processorMs } } = this.#options;
    this.#watch(processorMs() + deadlineMs, monotonicMs() + wallMsMax);
  }

  /** Ends the thread when the whole process has used the time that the thread may use. */
  #watch(endMs: number, wallEndMs: number): void {
    const { deadlineMs, clocks: { monotonicMs, processorMs } } = this.#options;
    const leftMs = Math.min(endMs - processorMs(), wallEndMs - monotonicMs());
    if (leftMs <= 0) {
      // The result may have arrived while the process was busy; messages are handled after timers.
      const job = this.#onEnded;
      return void setImmediate(() =>
        this.#onEnded === job && this.#end(`It took longer than ${deadlineMs} ms`)
      );
    }
    this.#timer = setTimeout(() => this.#watch(endMs, wallEndMs), Math.ceil(leftMs));
  }

  #finish(result: Result): void {
    const onResult = this.#onResult;
    this.#onResult = this.#onEnded = null;
    onResult?.(result);
  }

  #end(why: string): void {
    this.stop();
    const onEnded = this.#onEnded;
    this.#job = this.#onResult = this.#onEnded = null;
    onEnded?.(why);
  }
}
