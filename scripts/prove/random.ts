/**
 * Reproducible random choices.
 *
 * @module
 */

/** A source of random choices. */
export interface Random {
  /** Returns an integer from 0 to `end` - 1. */
  below(end: number): number;
  /** Returns true with a probability of 1 / `n`. */
  oneIn(n: number): boolean;
  /** Returns one of the choices. */
  pick<T>(choices: readonly T[]): T;
}

/** Creates a Mulberry32 generator from an integer seed. */
export function seededRandom(seed: number): Random {
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
