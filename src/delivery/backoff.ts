/**
 * How long a delivery waits for its next attempt.
 *
 * @module
 */

/** The bounds of the waits. */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
}

/**
 * The wait after the `spent`-th attempt (from 1) in milliseconds: base × 3^(spent − 1), at most the cap, half of
 * it jitter. `random` is in [0, 1). A `Retry-After` of the tier is a floor.
 *
 * Source: DECISIONS, Delivery: 5 s × 3^n capped at 6 h; 24 attempts take about three days.
 */
export function backoffMs(
  spent: number,
  random: number,
  options: BackoffOptions & { readonly retryAfterMs?: number },
): number {
  const full = Math.min(options.capMs, options.baseMs * 3 ** Math.max(0, spent - 1));
  return Math.max(full / 2 + (full / 2) * random, options.retryAfterMs ?? 0);
}
