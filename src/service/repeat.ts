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
  /** Begins no further run, waits for the one under way, and finishes. */
  close(): Promise<void>;
}

/** Runs a job until it is closed; it begins with a pause. */
export function repeat<T>(
  job: Job<T>,
  { onFailure }: { readonly onFailure: (error: unknown) => void },
): Repeating {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> | null = null;
  let isClosed = false;
  const run = async () => {
    let outcome: T | null = null;
    try {
      outcome = await job.runOnce();
    } catch (error) {
      onFailure(error);
    }
    running = null;
    if (!isClosed) wait(outcome);
  };
  const wait = (outcome: T | null) => {
    timer = setTimeout(() => void soon(), job.pauseMs(outcome));
  };
  const soon = () => {
    clearTimeout(timer);
    return running ??= isClosed ? Promise.resolve() : run();
  };
  wait(null);
  return {
    soon,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
      await job.finish?.().catch(onFailure);
    },
  };
}
