/**
 * Looks for the smallest part of a list that still fails (delta debugging).
 *
 * @module
 */

/** Bounds of the search. */
export interface ShrinkOptions {
  /** Calls of `fails`, at most. */
  readonly triesMax: number;
}

/** What was found, and what it took. */
export interface Shrunk<T> {
  readonly items: readonly T[];
  readonly tries: number;
}

/**
 * Takes pieces away as long as the rest `fails`: first halves, then smaller ones, in the end single items. What fails only
 * now and then has to be tried several times by `fails` itself.
 */
export async function shrink<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
  { triesMax }: ShrinkOptions,
): Promise<Shrunk<T>> {
  let rest = items;
  let tries = 0;
  for (let pieces = 2; rest.length > 0 && tries < triesMax;) {
    const size = Math.ceil(rest.length / pieces);
    let smaller: readonly T[] | null = null;
    for (let from = 0; from < rest.length && tries < triesMax; from += size) {
      const without = [...rest.slice(0, from), ...rest.slice(from + size)];
      tries += 1;
      if (await fails(without)) {
        smaller = without;
        break;
      }
    }
    if (smaller !== null) {
      rest = smaller;
      pieces = Math.max(2, pieces - 1);
    } else if (size === 1) break;
    else pieces = Math.min(rest.length, pieces * 2);
  }
  return { items: rest, tries };
}
