/**
 * Row 4: one request in flight, its median latency beside the Fastify peer's.
 *
 * @module
 */

import { type Bench, measureOnStore, onFreshDatabase, type StoreRound } from "../measure.ts";
import type { RowResult } from "../report.ts";
import { digits, figure, ratio } from "../stats.ts";
import { startFastify, startOurs, type Target } from "../targets.ts";

/** With one request in flight, one connection is in use; the pool keeps a spare one. */
const poolSize = 2;

/** Measures the row when it is asked for. */
export async function measureLatency(bench: Bench): Promise<RowResult[]> {
  const { options } = bench;
  if (!options.rows.has(4)) return [];
  const starters = {
    ours: (databaseUrl: string) => startOurs({ databaseUrl }),
    Fastify: (databaseUrl: string) => startFastify({ databaseUrl, poolSize, pipeline: false }),
  };
  const rounds: Record<keyof typeof starters, StoreRound[]> = { ours: [], Fastify: [] };
  for (let round = 0; round < options.rounds; round += 1) {
    for (const name of round % 2 === 0 ? ["ours", "Fastify"] as const : ["Fastify", "ours"] as const) {
      const found = await oneInFlight(bench, starters[name]);
      rounds[name].push(found);
      bench.say(`round ${round + 1}, one in flight: ${name} ${digits(found.p50Us / 1_000)} ms`);
    }
  }
  const millis = (name: keyof typeof starters, pick: (round: StoreRound) => number) =>
    figure(rounds[name].map((round) => pick(round) / 1_000));
  const [ours, fastify] = [millis("ours", (round) => round.p50Us), millis("Fastify", (round) => round.p50Us)];
  return [{
    row: 4,
    what: "one in flight: median latency against Fastify",
    value: ratio(ours, fastify),
    unit: "×",
    target: { atMost: 1.3 },
    judged: "median",
    figures: {
      "ours, median ms": ours,
      "Fastify, median ms": fastify,
      "ours, 99th percentile ms": millis("ours", (round) => round.p99Us),
      "Fastify, 99th percentile ms": millis("Fastify", (round) => round.p99Us),
    },
    notes: [],
  }];
}

function oneInFlight(
  bench: Bench,
  startTarget: (databaseUrl: string) => Promise<Target>,
): Promise<StoreRound> {
  const { warmUpSeconds, roundSeconds: seconds } = bench.options;
  return onFreshDatabase(
    bench,
    (database) =>
      measureOnStore(bench, database, { startTarget, round: { connections: 1, warmUpSeconds, seconds } }),
  );
}
