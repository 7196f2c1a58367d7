/** Repeats a job, one run at a time, with pauses in between. */

export interface Job<T> {
  /** Runs the job once. An error is reported and does not stop the repetition. */
  runOnce(): Promise<T>;
  /** Returns the pause until the next run; `outcome` is `null` before the first run and after one that failed. */
  pauseMs(outcome: T | null): number;
  /** Completes the work after the last run. */
  finish?(): Promise<unknown>;
}

export interface Repeating {
  /** Runs now unless a run is in flight or the repetition is stopped; resolves when the run has ended. */
  soon(): Promise<void>;
  /** Stops the repetition; resolves when a run in flight has ended. An error in that run is ignored. */
  stop(): Promise<void>;
  /** Calls the job's `finish`; reports an error. */
  finish(): Promise<void>;
}

/** Repeats a job until it is stopped, beginning with a pause. */
export function repeat<T>(
  job: Job<T>,
  { onFailure, onSuccess = () => {} }: {
    readonly onFailure: (error: unknown) => void;
    readonly onSuccess?: () => void;
  },
): Repeating {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> | null = null;
  let isStopped = false;
  const run = async () => {
    let outcome: T | null = null;
    try {
      outcome = await job.runOnce();
      onSuccess();
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
