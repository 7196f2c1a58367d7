/**
 * Counts that stop at a bound.
 *
 * @module
 */

/** A number that was counted up to a bound. */
export interface Bounded {
  readonly count: number;
  /** There are more. */
  readonly isMore: boolean;
}

/** Bounds what a page reads of a backlog; it says "10,000+" beyond. */
export const countedMax = 10_000;

/** Of a count that has gone one past {@linkcode countedMax} at most. */
export function bounded(count: number): Bounded {
  return { count: Math.min(count, countedMax), isMore: count > countedMax };
}
