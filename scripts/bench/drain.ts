/**
 * One round of one deliverer on a copy of its backlog: it starts, everything arrives at the sink, nothing is
 * left in its queue, it stops.
 *
 * @module
 */

import { setTimeout as delay } from "node:timers/promises";
import type postgres from "postgres";
import type { DeliveryBench, Leads } from "./backlog.ts";
import { type Arrived, type Sink, startSink } from "./sink.ts";
import type { Database } from "./stage.ts";
import { cpuSeconds } from "./usage.ts";

/** A process that delivers. */
export interface Running {
  readonly pid: number;
  stop(): Promise<void>;
}

/** Somebody who takes part in the rounds. */
export interface Deliverer {
  readonly name: string;
  /** The database with its backlog. */
  readonly template: string;
  readonly isTls: boolean;
  readonly start: (databaseUrl: string, sink: Sink) => Promise<Running>;
  /** Rows in its queue that are not done. */
  readonly countLeft: (sql: postgres.Sql) => Promise<number>;
  /** Looks at the rest of its database after a whole drain; throws when something is wrong. */
  readonly check?: (sql: postgres.Sql, leads: Leads) => Promise<void>;
}

/** What a round found. */
export interface DrainRound {
  /** Deliveries a second, from the first arrival at the sink until the queue is empty. */
  readonly perSecond: number;
  readonly bodyBytes: number;
  readonly connections: number;
  /** Processor time for each delivery. */
  readonly cpuUs: {
    readonly own: number;
    readonly database: number;
    readonly sink: number;
  };
}

const pollMs = 20;
/** Without an arrival for so long, the round has failed. */
const silenceMaxMs = 20_000;
/** From the last arrival until the queue is empty. */
const settleMaxMs = 20_000;

/** Runs work on a running deliverer and ends everything after it. */
async function onRunning<T>(
  { stage, certificates }: DeliveryBench,
  deliverer: Deliverer,
  work: (running: Running, sink: Sink, database: Database) => Promise<T>,
): Promise<T> {
  const database = await stage.createDatabase(deliverer.template);
  await stage.checkpoint();
  const sink = await startSink(deliverer.isTls ? certificates : null);
  try {
    const running = await deliverer.start(database.url, sink);
    try {
      return await work(running, sink, database);
    } finally {
      await running.stop();
    }
  } finally {
    await sink.stop();
    await database.drop();
  }
}

/**
 * Drains the whole backlog.
 *
 * @throws {Error} when not every event has arrived exactly once, or something is left in the queue
 */
export function drain(bench: DeliveryBench, deliverer: Deliverer, leads: Leads): Promise<DrainRound> {
  return onRunning(bench, deliverer, async (running, sink, database) => {
    const { stage } = bench;
    const cpu = () => [cpuSeconds([running.pid]), stage.cpuSeconds(), cpuSeconds([sink.pid])] as const;
    const begun = await untilArrived(sink, 1);
    const before = cpu();
    await untilArrived(sink, leads.ids.size);
    await untilEmpty(deliverer, database.sql);
    const endedNs = Number(process.hrtime.bigint());
    const after = cpu();
    const arrived = await sink.arrived();
    checkArrived(deliverer, leads, { arrived, ids: await sink.arrivals() });
    await deliverer.check?.(database.sql, leads);
    const us = (index: 0 | 1 | 2) =>
      (after[index] - before[index]) * 1e6 /
      (arrived.requests - begun.requests);
    return {
      perSecond: leads.ids.size / ((endedNs - arrived.firstNs) / 1e9),
      bodyBytes: arrived.bodyBytes / arrived.requests,
      connections: arrived.connections,
      cpuUs: { own: us(0), database: us(1), sink: us(2) },
    };
  });
}

/** Deliveries a second until so many have arrived; what happens to the rest is not looked at. */
export function tryOut(bench: DeliveryBench, deliverer: Deliverer, deliveries: number): Promise<number> {
  return onRunning(bench, deliverer, async (_running, sink) => {
    const { firstNs, lastNs, requests } = await untilArrived(sink, deliveries);
    return requests / ((lastNs - firstNs) / 1e9);
  });
}

/** Waits until so many events have arrived. */
export async function untilArrived(sink: Sink, count: number): Promise<Arrived> {
  let seen = -1;
  let seenAtMs = performance.now();
  while (true) {
    const arrived = await sink.arrived();
    if (arrived.distinct >= count) return arrived;
    const nowMs = performance.now();
    if (arrived.distinct > seen) [seen, seenAtMs] = [arrived.distinct, nowMs];
    if (nowMs - seenAtMs > silenceMaxMs) {
      throw new Error(`${seen} of ${count} events have arrived, and nothing more comes`);
    }
    await delay(pollMs);
  }
}

async function untilEmpty({ name, countLeft }: Deliverer, sql: postgres.Sql): Promise<void> {
  const deadlineMs = performance.now() + settleMaxMs;
  while (true) {
    const left = await countLeft(sql);
    if (left === 0) return;
    if (performance.now() > deadlineMs) {
      throw new Error(`${name}: ${left} rows are left in the queue`);
    }
    await delay(1);
  }
}

function checkArrived(
  { name }: Deliverer,
  leads: Leads,
  { arrived, ids }: { arrived: Arrived; ids: ReadonlyMap<string, number> },
): void {
  const missing = leads.ids.difference(ids as unknown as ReadonlySetLike<unknown>).size;
  if (
    missing > 0 || ids.size !== leads.ids.size || arrived.requests !== ids.size
  ) {
    throw new Error(
      `${name}: of ${leads.ids.size} events ${missing} are missing at the sink; ${arrived.requests} requests, ` +
        `${ids.size} events`,
    );
  }
}
