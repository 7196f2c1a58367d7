/**
 * One round of leads that are offered at a pace to our service while it delivers to a sink, or does not.
 *
 * @module
 */

import { pace, type Paced } from "../load/pacer.ts";
import type { Program } from "../programs.ts";
import { startService } from "../service.ts";
import type { Database } from "../stage.ts";
import { quantile } from "../stats.ts";
import type { Bench, Measures } from "../suite.ts";
import { meter } from "../usage.ts";
import { countOutbox, startDelivering } from "./deliverers.ts";
import { untilEmpty } from "./drain.ts";
import { type Sink, startSink } from "./sink.ts";

/** How leads are offered. */
export interface Offer {
  readonly perSecond: number;
  readonly seconds: number;
  readonly isDelivering: boolean;
  /** Called before the first lead; what it returns, after the queue is empty. */
  readonly meanwhile?: (database: Database) => Promise<() => Promise<void>>;
}

/**
 * Runs a round on a fresh database.
 *
 * @throws {Error} when a lead was refused, has not arrived at the sink exactly once, or is left in the outbox
 */
export function offer(bench: Bench, wanted: Offer): Promise<Measures> {
  return bench.stage.lend(bench.tree, async (database) => {
    const sink = await startSink(null);
    try {
      const service = wanted.isDelivering
        ? await startDelivering(bench, database.url, sink)
        : await startService(bench, { databaseUrl: database.url });
      const end = await wanted.meanwhile?.(database);
      try {
        return await measure(bench, wanted, { sink, database, service });
      } finally {
        await end?.();
        await service.stop();
      }
    } finally {
      await sink.stop();
    }
  });
}

async function measure(
  { options, stage, load }: Bench,
  { perSecond, seconds, isDelivering }: Offer,
  { sink, database, service }: { sink: Sink; database: Database; service: Program },
): Promise<Measures> {
  const { warmUpSeconds } = options;
  const spent = meter({ server: service.pid, PostgreSQL: stage.pid });
  const paced = await pace(`${service.urls.intake}/v1/intake`, {
    load,
    perSecond,
    seconds: warmUpSeconds + seconds,
  });
  const processorTime = spent(paced.leads.length, "lead");
  const fromNs = paced.startNs + warmUpSeconds * 1e9;
  const answered = { ...ofAnswers(paced, fromNs), ...processorTime };
  if (!isDelivering) return answered;
  await untilEmpty(() => countOutbox(database.sql));
  const emptyNs = Number(process.hrtime.bigint());
  const arrivals = await sink.check(new Set(paced.leads.map(({ id }) => id)));
  return {
    ...answered,
    ...ofArrivals(paced, fromNs, arrivals),
    "s until the outbox is empty": (emptyNs - paced.endNs) / 1e9,
  };
}

/** The warm-up is left out. */
function ofAnswers({ leads }: Paced, fromNs: number): Measures {
  const counted = leads.filter(({ dueNs }) => dueNs >= fromNs);
  const took = sortedMs(counted.map(({ sentNs, ackNs }) => ackNs - sentNs));
  return {
    "request to 202, median ms": quantile(took, 0.5),
    "request to 202, 99th percentile ms": quantile(took, 0.99),
    "the client's delay, 99th percentile ms": quantile(
      sortedMs(counted.map(({ dueNs, sentNs }) => sentNs - dueNs)),
      0.99,
    ),
  };
}

/** From the 202 to the arrival at the sink, which may come first. */
function ofArrivals(
  { leads, endNs }: Paced,
  fromNs: number,
  arrivals: ReadonlyMap<string, number>,
): Measures {
  const tookSince = (ns: number) =>
    sortedMs(
      leads.filter(({ dueNs }) => dueNs >= ns).map(({ id, ackNs }) => arrivals.get(id) as number - ackNs),
    );
  const took = tookSince(fromNs);
  const late = tookSince(endNs - (endNs - fromNs) / 5);
  const inTime = [...arrivals.values()].filter((ns) => ns <= endNs);
  return {
    "202 to arrival, median ms": quantile(took, 0.5),
    "202 to arrival, 99th percentile ms": quantile(took, 0.99),
    "202 to arrival in the last fifth, median ms": quantile(late, 0.5),
    "202 to arrival in the last fifth, 99th percentile ms": quantile(late, 0.99),
    "delivered/s": inTime.filter((ns) => ns > fromNs).length / ((endNs - fromNs) / 1e9),
    "waiting at the end": leads.length - inTime.length,
  };
}

function sortedMs(ns: readonly number[]): Float64Array {
  return Float64Array.from(ns, (one) => one / 1e6).sort();
}
