/**
 * What is done again and again: one run after the other, a pause between them, and an end that waits.
 *
 * @module
 */

/** Work that is done again and again. */
export interface Job<T> {
  /** Does it once. What it throws is told, and the next run comes all the same. */
  runOnce(): Promise<T>;
  /** From the end of a run to the next, in milliseconds; `null` before the first run and after one that threw. */
  pauseMs(outcome: T | null): number;
  /** Does what is left to be done when no further run comes. */
  finish?(): Promise<unknown>;
}

/** What is being repeated. */
export interface Repeating {
  /** Runs now, unless a run is under way, and resolves when it has ended. */
  soon(): Promise<void>;
  /** Begins no further run, and resolves when the one under way has ended; what that one throws is told to nobody. */
  stop(): Promise<void>;
  /** Does what is left to be done. */
  finish(): Promise<void>;
}

/** Runs a job until it is closed; it begins with a pause. */
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
