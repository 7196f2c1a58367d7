/**
 * Row 6: many leads a second while they are delivered: the deliveries keep up, and the intake does not suffer.
 *
 * @module
 */

import type { DeliveryBench } from "../backlog.ts";
import { offer, type OfferRound } from "../offer.ts";
import type { RowResult } from "../report.ts";
import { digits, figure, quantile, ratio } from "../stats.ts";

const perSecond = 2_000;

/** Measures the row when it is asked for. */
export async function measureOffered(bench: DeliveryBench): Promise<RowResult[]> {
  const { options, say } = bench;
  if (!options.rows.has(6)) return [];
  const rounds = { delivering: [] as OfferRound[], alone: [] as OfferRound[] };
  for (let round = 0; round < options.rounds; round += 1) {
    for (
      const name of round % 2 === 0 ? ["delivering", "alone"] as const : ["alone", "delivering"] as const
    ) {
      const isDelivering = name === "delivering";
      const found = await offer(bench, { perSecond, seconds: options.offeredSeconds, isDelivering });
      rounds[name].push(found);
      const p99 = digits(quantile(found.answerMs, 0.99));
      const rest = isDelivering
        ? `; ${found.backlog} wait at the end, empty ${digits(found.emptyAfterSeconds)} s later`
        : "";
      say(`round ${round + 1}: ${name}: 99 % answered within ${p99} ms${rest}`);
    }
  }
  const answers = (name: keyof typeof rounds, q: number) =>
    figure(rounds[name].map((round) => quantile(round.answerMs, q)));
  const delivering = (pick: (round: OfferRound) => number) => figure(rounds.delivering.map(pick));
  return [{
    row: 6,
    what:
      `${perSecond} leads/s for ${options.offeredSeconds} s while delivering: work that is left at the end`,
    value: delivering((round) => round.emptyAfterSeconds),
    unit: "s",
    target: { atMost: 2 },
    judged: "median",
    figures: {
      "waiting at the end": delivering((round) => round.backlog),
      "delivered/s while leads were offered": delivering((round) => round.deliveredPerSecond),
      "202 to arrival, median ms": delivering((round) => quantile(round.handoverMs, 0.5)),
      "202 to arrival, 99th percentile ms": delivering((round) => quantile(round.handoverMs, 0.99)),
      "our processor µs a lead": delivering((round) => round.cpuUs.own),
      "PostgreSQL's processor µs a lead": delivering((round) => round.cpuUs.database),
    },
    notes: ["from the last 202 until the outbox is empty"],
  }, {
    row: 6,
    what: "the intake's 99th percentile against the same without delivery",
    value: ratio(answers("delivering", 0.99), answers("alone", 0.99)),
    unit: "×",
    target: { atMost: 2 },
    judged: "median",
    figures: {
      "delivering, 99th percentile ms": answers("delivering", 0.99),
      "alone, 99th percentile ms": answers("alone", 0.99),
      "delivering, median ms": answers("delivering", 0.5),
      "alone, median ms": answers("alone", 0.5),
      "delivering, the client's delay, 99th percentile ms": delivering((
        round,
      ) => quantile(round.lagMs, 0.99)),
      "alone, our processor µs a lead": figure(rounds.alone.map((round) => round.cpuUs.own)),
      "alone, PostgreSQL's processor µs a lead": figure(rounds.alone.map((round) => round.cpuUs.database)),
    },
    notes: [
      "from the request to its 202; the client sends on time, whatever the answers do",
    ],
  }];
}
