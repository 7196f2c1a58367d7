/**
 * Time, as the kit takes it. This module is browser compatible.
 *
 * @module
 */

/** Can be replaced for tests, and with it every wait. */
export interface Clock {
  /** Milliseconds since 1970, which never step back. */
  now(): number;
  /** Resolves after `waitMs`, or as soon as `signal` is aborted; never rejects. */
  sleep(waitMs: number, signal: AbortSignal | undefined): Promise<void>;
}

/** The platform's. */
export const systemClock: Clock = {
  // Not Date.now, which steps when the machine's clock is set: a deadline would move with it.
  now: () => performance.timeOrigin + performance.now(),
  sleep: (waitMs, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      signal?.addEventListener("abort", done);
    }),
};
