/**
 * Row 5: a transaction that stays open elsewhere keeps PostgreSQL from cleaning up behind the outbox; the
 * delivery must not slow down.
 *
 * @module
 */

import postgres from "postgres";
import type { DeliveryBench } from "../backlog.ts";
import { offer, type OfferRound } from "../offer.ts";
import type { RowResult } from "../report.ts";
import type { Database } from "../stage.ts";
import { digits, figure, quantile, ratio } from "../stats.ts";

const perSecond = 500;

/** Measures the row when it is asked for. */
export async function measureHeld(bench: DeliveryBench): Promise<RowResult[]> {
  const { options, say } = bench;
  if (!options.rows.has(5)) return [];
  const common = { perSecond, seconds: options.heldSeconds, isDelivering: true };
  const tell = (name: string, { deliveredPerSecond, cpuUs, lateHandoverMs }: OfferRound) =>
    say(
      `${name}: ${digits(deliveredPerSecond)}/s delivered, PostgreSQL ${digits(cpuUs.database)} µs a lead, ` +
        `202 to arrival in the last fifth ${digits(quantile(lateHandoverMs, 0.5))} ms`,
    );
  const without = await offer(bench, common);
  tell("no transaction held", without);
  const held = await offer(bench, { ...common, meanwhile: holdTransaction });
  tell("a transaction held", held);
  const both = { "held": held, "not held": without };
  const figures = Object.fromEntries(
    Object.entries(both).flatMap(([name, round]) => [
      [`${name}, delivered/s`, figure([round.deliveredPerSecond])],
      [`${name}, 202 to arrival, median ms`, figure([quantile(round.handoverMs, 0.5)])],
      [`${name}, 202 to arrival in the last fifth, median ms`, figure([quantile(round.lateHandoverMs, 0.5)])],
      [
        `${name}, 202 to arrival in the last fifth, 99th percentile ms`,
        figure([quantile(round.lateHandoverMs, 0.99)]),
      ],
      [`${name}, PostgreSQL's processor µs a lead`, figure([round.cpuUs.database])],
      [`${name}, our processor µs a lead`, figure([round.cpuUs.own])],
      [`${name}, waiting at the end`, figure([round.backlog])],
    ]),
  );
  return [{
    row: 5,
    what: `delivered/s at ${perSecond} leads/s for ${options.heldSeconds} s, a transaction held open`,
    value: ratio(figure([held.deliveredPerSecond]), figure([without.deliveredPerSecond])),
    unit: "×",
    target: { atLeast: 0.95 },
    judged: "median",
    figures,
    notes: ["one round of each"],
  }];
}

/** Begins a transaction on a connection of its own whose snapshot nothing newer can be cleaned up behind. */
async function holdTransaction({ url, sql }: Database): Promise<{ end(): Promise<void> }> {
  const holder = postgres(url, { max: 1, onnotice: () => {} });
  await holder.unsafe("begin isolation level repeatable read");
  const [row] = await holder<{ pid: number; xid: string }[]>`
    select pg_backend_pid() as pid, pg_current_xact_id()::text as xid`;
  const [seen] = await sql<{ holds: boolean }[]>`
    select backend_xmin is not null as holds from pg_stat_activity where pid = ${row?.pid ?? 0}`;
  if (seen?.holds !== true) {
    throw new Error("The transaction does not hold xmin");
  }
  return {
    async end() {
      await holder.unsafe("rollback");
      await holder.end({ timeout: 5 });
    },
  };
}
