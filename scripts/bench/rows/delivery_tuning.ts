/**
 * Each peer at its best: settings are tried before the rounds, one after another from a good start, and the
 * fastest takes part.
 *
 * @module
 */

import type { DeliveryBench } from "../backlog.ts";
import { boss, type BossSettings, graphile, type GraphileSettings } from "../deliverers.ts";
import { type Deliverer, tryOut } from "../drain.ts";
import { candidates } from "../report.ts";
import { digits } from "../stats.ts";

/** A peer as it takes part, and what was tried. */
export interface Tuned {
  readonly deliverer: Deliverer;
  readonly notes: readonly string[];
}

/** graphile-worker's best HTTP client, concurrency, local queue and delay of batched completion. */
export function tuneGraphile(bench: DeliveryBench, template: string): Promise<Tuned> {
  const { quick } = bench.options;
  return climb<GraphileSettings>(
    bench,
    (settings) => graphile(template, settings),
    {
      start: { client: "http", concurrency: 64, queueSize: 500, completeDelayMs: 0 },
      steps: [
        { client: ["undici"] },
        { concurrency: quick ? [128] : [24, 32, 96, 128, 256] },
        { queueSize: quick ? [1_000] : [200, 1_000, 2_000] },
        { completeDelayMs: quick ? [20] : [5, 20, 100, 250] },
        // Again, now that the rest is better.
        ...(quick ? [] : [{ client: ["http", "undici"] as const, concurrency: [48, 64, 128] }]),
      ],
    },
  );
}

/** pg-boss's best HTTP client, batch size, workers and connections. */
export function tuneBoss(bench: DeliveryBench, template: string): Promise<Tuned> {
  const { quick } = bench.options;
  return climb<BossSettings>(bench, (settings) => boss(template, settings), {
    start: { client: "undici", batchSize: 500, workers: 2, connections: 64 },
    steps: [
      { client: ["http"] },
      { workers: quick ? [4] : [1, 4, 8] },
      { batchSize: quick ? [1_000] : [100, 250, 1_000, 2_000] },
      { connections: quick ? [128] : [32, 128, 256] },
      ...(quick ? [] : [{ workers: [1, 2, 3, 4, 6, 8] }]),
    ],
  });
}

/** Values to try of some settings, one setting after another. */
type Step<T> = { readonly [Name in keyof T]?: readonly T[Name][] };

async function climb<T extends object>(
  bench: DeliveryBench,
  make: (settings: T) => Deliverer,
  { start, steps }: { start: T; steps: readonly Step<T>[] },
): Promise<Tuned> {
  const found = new Map<string, number>();
  const measure = async (settings: T): Promise<number> => {
    const { name } = make(settings);
    const known = found.get(name);
    if (known !== undefined) return known;
    const perSecond = await tryOut(bench, make(settings), bench.options.tuneDeliveries);
    found.set(name, perSecond);
    bench.say(`tuning: ${name}: ${digits(perSecond)}/s`);
    return perSecond;
  };
  let best = start;
  let bestRate = await measure(start);
  for (const step of steps) {
    for (
      const [name, values] of Object.entries(step) as [keyof T, T[keyof T][]][]
    ) {
      for (const value of values) {
        const settings = { ...best, [name]: value };
        const perSecond = await measure(settings);
        if (perSecond > bestRate) [best, bestRate] = [settings, perSecond];
      }
    }
  }
  return {
    deliverer: make(best),
    notes: [`tried until ${bench.options.tuneDeliveries} were delivered: ${candidates(found)}`],
  };
}
