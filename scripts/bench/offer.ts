/**
 * One round of leads that are offered at a pace to our service while it delivers to a sink, or does not.
 *
 * @module
 */

import { setTimeout as delay } from "node:timers/promises";
import type { DeliveryBench } from "./backlog.ts";
import { countOutbox, startDelivering } from "./deliverers.ts";
import { type Acknowledged, pace, type Paced } from "./pacer.ts";
import { type Sink, startSink } from "./sink.ts";
import type { Database } from "./stage.ts";
import { cpuSeconds } from "./usage.ts";
import { writeLoad } from "./wrk.ts";
import { buildFolder, startOurs } from "./targets.ts";

/** How leads are offered. */
export interface Offer {
  readonly perSecond: number;
  readonly seconds: number;
  readonly isDelivering: boolean;
  /** Flags of Node for our service, such as the profiler's. */
  readonly nodeFlags?: readonly string[];
  /** Called before the first lead and ended after the queue is empty. */
  readonly meanwhile?: (database: Database) => Promise<{ end(): Promise<void> }>;
}

/** What a round found; the warm-up is left out, but where it is said. */
export interface OfferRound {
  /** Milliseconds from a request to its 202, sorted. */
  readonly answerMs: Float64Array;
  /** Milliseconds from the 202 to the arrival of the delivery at the sink, sorted; may be negative. */
  readonly handoverMs: Float64Array;
  /** The same of the last fifth. */
  readonly lateHandoverMs: Float64Array;
  /** Milliseconds that the client was late with a request, sorted. */
  readonly lagMs: Float64Array;
  /** Arrivals a second at the sink while leads were offered. */
  readonly deliveredPerSecond: number;
  /** Acknowledged, but not arrived at the sink when the last lead was acknowledged. */
  readonly backlog: number;
  /** From the last acknowledgement until the outbox is empty. */
  readonly emptyAfterSeconds: number;
  /** Processor time for each lead, warm-up included. */
  readonly cpuUs: {
    readonly own: number;
    readonly database: number;
    readonly sink: number;
  };
}

/** From the last acknowledgement until the outbox is empty. */
const emptyMaxMs = 120_000;

/**
 * Runs a round on a fresh database.
 *
 * @throws {Error} when a lead was refused, has not arrived at the sink exactly once, or is left in the outbox
 */
export async function offer(bench: DeliveryBench, wanted: Offer): Promise<OfferRound> {
  const { stage, certificates } = bench;
  const { nodeFlags = [] } = wanted;
  const database = await stage.createDatabase();
  await stage.checkpoint();
  const sink = await startSink(null);
  try {
    const service = wanted.isDelivering
      ? await startDelivering({
        databaseUrl: database.url,
        sink,
        certificates,
        nodeFlags,
      })
      : await startOurs({ databaseUrl: database.url, nodeFlags });
    const other = await wanted.meanwhile?.(database);
    try {
      return await measure(bench, wanted, { sink, database, url: service.url, pid: service.pid });
    } finally {
      await other?.end();
      await service.stop();
    }
  } finally {
    await sink.stop();
    await database.drop();
  }
}

async function measure(
  bench: DeliveryBench,
  { perSecond, seconds, isDelivering }: Offer,
  { sink, database, url, pid }: {
    sink: Sink;
    database: Database;
    url: string;
    pid: number;
  },
): Promise<OfferRound> {
  const { options, stage, bodies } = bench;
  const load = writeLoad(buildFolder, bodies, stage.keys);
  const cpu = () => [cpuSeconds([pid]), stage.cpuSeconds(), cpuSeconds([sink.pid])] as const;
  const before = cpu();
  const paced = await pace(url, { load, perSecond, seconds: options.warmUpSeconds + seconds });
  const after = cpu();
  if (isDelivering) await untilEmpty(database);
  const emptyNs = Number(process.hrtime.bigint());
  const arrivals = await sink.arrivals();
  if (isDelivering) await check(paced, sink, arrivals);
  const us = (index: 0 | 1 | 2) => (after[index] - before[index]) * 1e6 / paced.leads.length;
  return {
    ...summarize(paced, arrivals, options.warmUpSeconds),
    emptyAfterSeconds: (emptyNs - lastAckNs(paced)) / 1e9,
    cpuUs: { own: us(0), database: us(1), sink: us(2) },
  };
}

function lastAckNs({ leads }: Paced): number {
  return leads.at(-1)?.ackNs ?? 0;
}

function summarize(paced: Paced, arrivals: ReadonlyMap<string, number>, warmUpSeconds: number) {
  const fromNs = paced.startNs + warmUpSeconds * 1e9;
  const toNs = lastAckNs(paced);
  const counted = paced.leads.filter(({ dueNs }) => dueNs >= fromNs);
  const lateFromNs = toNs - (toNs - fromNs) / 5;
  const millis = (
    leads: readonly Acknowledged[],
    pick: (lead: Acknowledged) => number,
  ) => Float64Array.from(leads, (lead) => pick(lead) / 1e6).sort();
  const handover = ({ id, ackNs }: Acknowledged) => (arrivals.get(id) ?? Number.NaN) - ackNs;
  let during = 0;
  let beforeEnd = 0;
  for (const ns of arrivals.values()) {
    if (ns <= toNs) beforeEnd += 1;
    if (ns > fromNs && ns <= toNs) during += 1;
  }
  return {
    answerMs: millis(counted, ({ sentNs, ackNs }) => ackNs - sentNs),
    handoverMs: millis(counted, handover),
    lateHandoverMs: millis(counted.filter(({ dueNs }) => dueNs >= lateFromNs), handover),
    lagMs: millis(counted, ({ dueNs, sentNs }) => sentNs - dueNs),
    deliveredPerSecond: during / ((toNs - fromNs) / 1e9),
    backlog: paced.leads.length - beforeEnd,
  };
}

async function untilEmpty({ sql }: Database): Promise<void> {
  const deadlineMs = performance.now() + emptyMaxMs;
  while (true) {
    const left = await countOutbox(sql);
    if (left === 0) return;
    if (performance.now() > deadlineMs) {
      throw new Error(`${left} rows are left in the outbox`);
    }
    await delay(1);
  }
}

async function check({ leads }: Paced, sink: Sink, arrivals: ReadonlyMap<string, number>): Promise<void> {
  const missing = leads.filter(({ id }) => !arrivals.has(id)).length;
  const { requests } = await sink.arrived();
  if (
    missing > 0 || arrivals.size !== leads.length || requests !== leads.length
  ) {
    throw new Error(
      `Of ${leads.length} acknowledged leads ${missing} are missing at the sink; ${requests} requests, ` +
        `${arrivals.size} events`,
    );
  }
}
