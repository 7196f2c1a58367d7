/**
 * Row 4: how soon an acknowledged lead is at the tier, when there is time.
 *
 * @module
 */

import type { DeliveryBench } from "../backlog.ts";
import { offer, type OfferRound } from "../offer.ts";
import type { RowResult } from "../report.ts";
import { digits, figure, quantile } from "../stats.ts";

const perSecond = 200;

/** Measures the row when it is asked for. */
export async function measureHandover(bench: DeliveryBench): Promise<RowResult[]> {
  const { options } = bench;
  if (!options.rows.has(4)) return [];
  const rounds: OfferRound[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const found = await offer(bench, { perSecond, seconds: options.handoverSeconds, isDelivering: true });
    rounds.push(found);
    const [median, high] = [0.5, 0.99].map((q) => digits(quantile(found.handoverMs, q)));
    bench.say(`round ${round + 1}: 202 to arrival ${median} ms, 99 % within ${high} ms`);
  }
  const of = (pick: (round: OfferRound) => Float64Array, q: number) =>
    figure(rounds.map((round) => quantile(pick(round), q)));
  const common = { row: 4, unit: "ms", judged: "median", notes: [] } as const;
  return [{
    ...common,
    what: `202 to arrival at the sink, ${perSecond} leads/s: median`,
    value: of((round) => round.handoverMs, 0.5),
    target: { atMost: 5 },
    figures: {
      "request to 202, median ms": of((round) => round.answerMs, 0.5),
      "request to 202, 99th percentile ms": of((round) => round.answerMs, 0.99),
      "the client's delay, 99th percentile ms": of((round) => round.lagMs, 0.99),
    },
  }, {
    ...common,
    what: "the same: 99th percentile",
    value: of((round) => round.handoverMs, 0.99),
    target: { atMost: 50 },
    figures: { "longest ms": of((round) => round.handoverMs, 1) },
  }];
}
