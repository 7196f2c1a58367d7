/**
 * Chance that is repeated by its seed.
 *
 * @module
 */

/** A source of chance. */
export interface Chance {
  /** A whole number from 0 up to, but without, `end`. */
  below(end: number): number;
  /** True once in `n` times, on average. */
  oneIn(n: number): boolean;
  /** One of the choices. */
  pick<T>(choices: readonly T[]): T;
}

/** Mulberry32, from a whole number. */
export function chance(seed: number): Chance {
  let state = seed >>> 0;
  const below = (end: number) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 * end);
  };
  return {
    below,
    oneIn: (n) => below(n) === 0,
    pick: <T>(choices: readonly T[]) => choices[below(choices.length)] as T,
  };
}
