/**
 * The clock of a round, and functions that wait.
 *
 * @module
 */

import { setTimeout as delay } from "node:timers/promises";

/** Returns the milliseconds on this process's monotonic clock, which all times in a history use. */
export const nowMs = (): number => performance.now();

export const pause = async (ms: number): Promise<void> => await delay(Math.max(0, ms));

/** Calls `check` until it returns a truthy value, and returns that, or `null` after `deadlineMs`. Errors are ignored. */
export async function waitFor<T>(
  check: () => T | Promise<T>,
  { deadlineMs, everyMs = 25 }: { readonly deadlineMs: number; readonly everyMs?: number },
): Promise<T | null> {
  const endsAtMs = nowMs() + deadlineMs;
  while (true) {
    const found = await Promise.resolve().then(check).catch(() => null);
    if (found) return found;
    if (nowMs() > endsAtMs) return null;
    await pause(everyMs);
  }
}
