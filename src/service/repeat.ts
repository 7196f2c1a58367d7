/** Repeats a job: one run at a time, a pause in between, and a stop that waits. */

/** Work to repeat. */
export interface Job<T> {
  /** Runs once. An error is reported and does not stop the repetition. */
  runOnce(): Promise<T>;
  /** From the end of a run to the next, in milliseconds; `null` before the first run and after one that threw. */
  pauseMs(outcome: T | null): number;
  /** Completes the work after the last run. */
  finish?(): Promise<unknown>;
}

/** A job being repeated. */
export interface Repeating {
  /** Runs now unless a run is in flight; resolves when the run has ended. */
  soon(): Promise<void>;
  /** Starts no further run; resolves when the one in flight has ended. Its error is ignored. */
  stop(): Promise<void>;
  /** Completes the work after the last run. */
  finish(): Promise<void>;
}

/** Repeats a job until it is stopped; begins with a pause. */
export function repeat<T>(
  job: Job<T>,
  { onFailure }: { readonly onFailure: (error: unknown) => void },
): Repeating {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> | null = null;
  let isStopped = false;
  const run = async () => {
    let outcome: T | null = null;
    try {
      outcome = await job.runOnce();
    } catch (error) {
      if (!isStopped) onFailure(error);
    }
    return outcome;
  };
  const wait = (outcome: T | null) => {
    timer = setTimeout(() => void soon(), job.pauseMs(outcome));
  };
  const soon = () => {
    clearTimeout(timer);
    if (isStopped) return running ?? Promise.resolve();
    return running ??= run().then((outcome) => {
      running = null;
      if (!isStopped) wait(outcome);
    });
  };
  wait(null);
  return {
    soon,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
    async finish() {
      await job.finish?.().catch(onFailure);
    },
  };
}
