/**
 * The clock of a round, and waiting by it.
 *
 * @module
 */

import { setTimeout as delay } from "node:timers/promises";

/** Milliseconds on the monotonic clock of this process: all times of a history are of it. */
export const nowMs = (): number => performance.now();

/** Waits. */
export const pause = async (ms: number): Promise<void> => await delay(Math.max(0, ms));

/** Calls `check` until it returns something truthy, and returns that; `null` when `deadlineMs` has passed first. */
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
