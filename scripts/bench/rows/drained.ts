/**
 * Rows 1 to 3: a backlog drained, ours and the peers in turn.
 *
 * @module
 */

import { type DeliveryBench, fillQueue, type Leads, makeLeads } from "../backlog.ts";
import { ours } from "../deliverers.ts";
import { type Deliverer, drain, type DrainRound } from "../drain.ts";
import type { RowResult } from "../report.ts";
import { digits, type Figure, figure, ratio } from "../stats.ts";
import { tuneBoss, tuneGraphile } from "./delivery_tuning.ts";

/** A row of the table that compares two deliverers. */
interface Comparison {
  readonly row: 1 | 2 | 3;
  readonly what: string;
  readonly atLeast: number;
  /** Divided by the other. */
  readonly subject: Deliverer;
  readonly other: Deliverer;
  readonly notes: readonly string[];
}

/** Measures those of the rows that are asked for. */
export async function measureDrained(bench: DeliveryBench): Promise<RowResult[]> {
  const wanted = (row: number) => bench.options.rows.has(row);
  if (![1, 2, 3].some(wanted)) return [];
  const leads = await makeLeads(bench);
  const plain = ours(bench, leads, { isTls: false });
  const comparisons: Comparison[] = [];
  if (wanted(1)) {
    const template = await fillQueue(bench, leads, { peer: "graphile_worker" });
    const { deliverer: other, notes } = await tuneGraphile(bench, template);
    const what = "drained/s over plain HTTP against graphile-worker";
    comparisons.push({ row: 1, what, atLeast: 1, subject: plain, other, notes });
  }
  if (wanted(2)) {
    const template = await fillQueue(bench, leads, { peer: "pg_boss" });
    const { deliverer: other, notes } = await tuneBoss(bench, template);
    const what = "drained/s over plain HTTP against pg-boss";
    comparisons.push({ row: 2, what, atLeast: 3, subject: plain, other, notes });
  }
  if (wanted(3)) {
    const subject = ours(bench, leads, { isTls: true });
    const what = "drained/s over mutual TLS against plain HTTP, both ours";
    comparisons.push({ row: 3, what, atLeast: 0.7, subject, other: plain, notes: [] });
  }
  const deliverers = [plain, ...comparisons.flatMap(({ subject, other }) => [subject, other])];
  const rounds = await takeTurns(bench, leads, [...new Set(deliverers)]);
  return comparisons.map((comparison) => toRow(comparison, rounds));
}

type Rounds = Map<Deliverer, DrainRound[]>;

async function takeTurns(bench: DeliveryBench, leads: Leads, deliverers: Deliverer[]): Promise<Rounds> {
  const rounds: Rounds = new Map(deliverers.map((deliverer) => [deliverer, []]));
  for (let round = 0; round < bench.options.rounds; round += 1) {
    for (let turn = 0; turn < deliverers.length; turn += 1) {
      // Each round another one begins, so that nobody has the same place every time.
      const deliverer = deliverers[(round + turn) % deliverers.length] as Deliverer;
      const found = await drain(bench, deliverer, leads);
      rounds.get(deliverer)?.push(found);
      const { own, database, sink } = found.cpuUs;
      const cpu = [own, database, sink].map(digits).join(" + ");
      bench.say(`round ${round + 1}: ${deliverer.name} ${digits(found.perSecond)}/s, ${cpu} µs`);
    }
  }
  return rounds;
}

function toRow(comparison: Comparison, rounds: Rounds): RowResult {
  const { row, what, atLeast, subject, other, notes } = comparison;
  const of = (
    deliverer: Deliverer,
    pick: (round: DrainRound) => number,
  ): Figure => figure((rounds.get(deliverer) as DrainRound[]).map(pick));
  const rates = [subject, other].map((deliverer) => of(deliverer, (round) => round.perSecond));
  const figures = [subject, other].flatMap((deliverer, index): [string, Figure][] => [
    [`${deliverer.name}, drained/s`, rates[index] as Figure],
    [`${deliverer.name}, its processor µs each`, of(deliverer, (round) => round.cpuUs.own)],
    [`${deliverer.name}, PostgreSQL's µs each`, of(deliverer, (round) => round.cpuUs.database)],
    [`${deliverer.name}, the sink's µs each`, of(deliverer, (round) => round.cpuUs.sink)],
    [`${deliverer.name}, bytes of a body`, of(deliverer, (round) => round.bodyBytes)],
    [`${deliverer.name}, connections`, of(deliverer, (round) => round.connections)],
  ]);
  return {
    row,
    what,
    value: ratio(rates[0] as Figure, rates[1] as Figure),
    unit: "×",
    target: { atLeast },
    judged: "median",
    figures: Object.fromEntries(figures),
    notes,
  };
}
