/**
 * Each peer at its best: settings are tried before the rounds, and the fastest take part.
 *
 * @module
 */

import { say } from "./programs.ts";
import { digits } from "./stats.ts";

/** Values to try of some settings, one setting after another. */
export type Step<T> = { readonly [Name in keyof T]?: readonly T[Name][] };

/** The best settings, and what was tried. */
interface Tuned<T> {
  readonly best: T;
  readonly note: string;
}

/** Goes from a good start to the best of each step in turn; `tryOut` tells how many a second they reach. */
export async function climb<T extends object>(
  name: string,
  start: T,
  steps: readonly Step<T>[],
  tryOut: (settings: T) => Promise<number | undefined>,
): Promise<Tuned<T>> {
  const found = new Map<string, number>();
  const measure = async (settings: T): Promise<number> => {
    const text = Object.entries(settings).map(([name, value]) => `${name} ${value}`).join(", ");
    const known = found.get(text);
    if (known !== undefined) return known;
    const perSecond = await tryOut(settings) ?? 0;
    found.set(text, perSecond);
    say(`tuning: ${name} with ${text}: ${digits(perSecond)}/s`);
    return perSecond;
  };
  let best = start;
  let bestRate = await measure(start);
  for (const step of steps) {
    for (const [name, values] of Object.entries(step) as [keyof T, T[keyof T][]][]) {
      for (const value of values) {
        const settings = { ...best, [name]: value };
        const perSecond = await measure(settings);
        if (perSecond > bestRate) [best, bestRate] = [settings, perSecond];
      }
    }
  }
  const tried = [...found].sort(([, a], [, b]) => b - a).map(([text, perSecond]) =>
    `${text}: ${digits(perSecond)}/s`
  );
  return { best, note: `${name} tried with ${tried.join("; ")}` };
}
