/** Polls for conditions that send no signal: the only place in the tests where time passes. */

import { setTimeout as delay } from "node:timers/promises";

/** How long to wait, and for what. */
export interface UntilOptions {
  /** Chosen: a minute, so that it holds on a machine ten times slower. */
  readonly deadlineMs?: number;
  /** The condition's name in the failure message. */
  readonly what?: string;
  readonly intervalMs?: number;
}

/**
 * Calls `check` every few milliseconds until it returns a truthy value, and returns that. An error that it throws
 * counts as "not yet" and appears in the failure message.
 *
 * @throws {Error} when the deadline has passed
 */
export async function until<T>(
  check: () => T | Promise<T>,
  options: UntilOptions = {},
): Promise<Exclude<Awaited<T>, false | null | undefined | 0 | "">> {
  const { deadlineMs = 60_000, what = check.toString(), intervalMs = 20 } = options;
  const startMs = performance.now();
  let last: unknown;
  while (true) {
    try {
      last = await check();
      if (last) return last as Exclude<Awaited<T>, false | null | undefined | 0 | "">;
    } catch (error) {
      last = error;
    }
    if (performance.now() - startMs > deadlineMs) {
      throw new Error(`Not within ${deadlineMs} ms: ${what}; last: ${String(last)}`, { cause: last });
    }
    await delay(intervalMs);
  }
}
