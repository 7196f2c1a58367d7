/** Waiting for something that sends no signal: the one place in the tests where time passes by itself. */

import { setTimeout as delay } from "node:timers/promises";

/** How long to wait, and for what. */
export interface UntilOptions {
  /** Chosen: a minute, because what takes longer has hung, on a machine ten times slower than ours too. */
  readonly deadlineMs?: number;
  /** What the failure message says was waited for. */
  readonly what?: string;
  readonly intervalMs?: number;
}

/**
 * Calls `check` every few milliseconds until it returns something truthy, and returns that. What it throws
 * counts as "not yet", and stands in the failure message when the deadline passes.
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
