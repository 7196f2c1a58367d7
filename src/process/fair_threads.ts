/** Runs jobs of tenants in two threads, one at a time each, tenant by tenant. */

import { FairQueue } from "../http/outbound/fair_queue.ts";
import { DeadlineThread, type ThreadOptions } from "./deadline_thread.ts";

export type ThreadResult<Result> =
  | { readonly kind: "done"; readonly result: Result }
  /** The job took too long, or its thread died. */
  | { readonly kind: "ended"; readonly why: string }
  /** No thread became free in time. */
  | { readonly kind: "busy" };

interface Pending<Job, Result> {
  readonly tenant: string;
  readonly job: Job;
  readonly settle: (result: ThreadResult<Result>) => void;
  queue: FairQueue<Pending<Job, Result>>;
  timer?: ReturnType<typeof setTimeout>;
}

export interface FairThreadsOptions extends ThreadOptions {
  /** How long a job may wait for a thread. */
  readonly queueMsMax: number;
}

/** A tenant whose job was ended uses the second thread for this long. */
const penaltyMs = 600_000;
const penalizedMax = 1_000;

/** Chosen: a second thread for tenants whose jobs were ended, so that they delay only each other. */
export class FairThreads<Job, Result> {
  readonly #options: FairThreadsOptions;
  readonly #threads: DeadlineThread<Job, Result>[] = [];
  readonly #first: FairQueue<Pending<Job, Result>>;
  readonly #second: FairQueue<Pending<Job, Result>>;
  /** The jobs that wait for a thread. */
  readonly #waiting = new Set<Pending<Job, Result>>();
  /** When each penalized tenant's penalty ends. */
  readonly #penalized = new Map<string, number>();

  constructor(options: FairThreadsOptions) {
    this.#options = options;
    this.#first = this.#openQueue();
    this.#second = this.#openQueue();
  }

  run(tenant: string, job: Job): Promise<ThreadResult<Result>> {
    const { queueMsMax, clocks: { monotonicMs } } = this.#options;
    const isPenalized = (this.#penalized.get(tenant) ?? 0) > monotonicMs();
    return new Promise((settle) => {
      const pending: Pending<Job, Result> = {
        tenant,
        job,
        settle,
        queue: isPenalized ? this.#second : this.#first,
      };
      this.#waiting.add(pending);
      pending.timer = setTimeout(() => {
        this.#waiting.delete(pending);
        pending.queue.remove(pending);
        settle({ kind: "busy" });
      }, queueMsMax);
      pending.queue.add(pending);
    });
  }

  close(): void {
    for (const thread of this.#threads) thread.stop();
  }

  #openQueue(): FairQueue<Pending<Job, Result>> {
    const thread = new DeadlineThread<Job, Result>(this.#options);
    this.#threads.push(thread);
    const queue: FairQueue<Pending<Job, Result>> = new FairQueue({
      mayStart: (_inFlight, total) => total === 0,
      start: (pending) => {
        this.#waiting.delete(pending);
        clearTimeout(pending.timer);
        const settle = (result: ThreadResult<Result>) => {
          pending.settle(result);
          queue.remove(pending);
        };
        thread.run(pending.job, (result) => settle({ kind: "done", result }), (why) => {
          this.#penalize(pending.tenant);
          settle({ kind: "ended", why });
        });
      },
    });
    return queue;
  }

  /** Moves the tenant's jobs, and those that come, to the second thread. */
  #penalize(tenant: string): void {
    if (this.#penalized.size >= penalizedMax) this.#penalized.clear();
    this.#penalized.set(tenant, this.#options.clocks.monotonicMs() + penaltyMs);
    for (const pending of [...this.#waiting]) {
      if (pending.tenant !== tenant || pending.queue !== this.#first) continue;
      this.#first.remove(pending);
      pending.queue = this.#second;
      this.#second.add(pending);
    }
  }
}
