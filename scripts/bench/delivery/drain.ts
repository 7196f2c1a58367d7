/**
 * One round of one deliverer on a copy of its backlog: it starts, everything arrives at the sink, nothing is
 * left in its queue, it stops.
 *
 * @module
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Program } from "../programs.ts";
import type { Counters, Database } from "../stage.ts";
import type { Bench, Measures } from "../suite.ts";
import { meter } from "../usage.ts";
import type { Deliverer, Leads } from "./deliverers.ts";
import { type Arrived, type Sink, startSink } from "./sink.ts";

/** Between looks at the sink. */
const pollMs = 20;
/** Without an arrival for so long, the round has failed. */
const silenceMaxMs = 20_000;

/** What of PostgreSQL somebody has used from its start to its end. */
type Used = Pick<Counters, "commits" | "bytes" | "syncs">;

/** Runs work on a running deliverer and ends everything after it; `told` gets what the work has found. */
function onRunning<T, R>(
  { stage, certificates }: Bench,
  deliverer: Deliverer,
  { work, told }: {
    readonly work: (running: Program, sink: Sink, database: Database) => Promise<T>;
    readonly told: (found: T, used: Used) => R;
  },
): Promise<R> {
  return stage.lend(deliverer.template, async (database) => {
    const sink = await startSink(deliverer.isTls ? certificates : null);
    try {
      const before = await stage.counters(database);
      const running = await deliverer.start(database.url, sink);
      let found: T;
      try {
        found = await work(running, sink, database);
      } finally {
        await running.stop();
      }
      // The counts of a connection are in when it has ended.
      await database.quiet();
      const after = await stage.counters(database);
      return told(found, {
        commits: after.commits - before.commits,
        bytes: after.bytes - before.bytes,
        syncs: after.syncs - before.syncs,
      });
    } finally {
      await sink.stop();
    }
  });
}

/**
 * Drains the whole backlog: the rate is from the first arrival at the sink until the queue is empty. What a delivery
 * costs is the processor time of all processes without which there would be none, the sink's apart; commits and WAL
 * are those from the deliverer's start to its end.
 *
 * @throws {Error} when not every event has arrived exactly once, or something is left in the queue
 */
export function drain(bench: Bench, deliverer: Deliverer, leads: Leads): Promise<Measures> {
  const count = leads.ids.size;
  return onRunning(bench, deliverer, {
    async work(running, sink, { sql }) {
      const begun = await untilArrived(sink, 1);
      const spent = meter({ deliverer: running.pid, PostgreSQL: bench.stage.pid, sink: sink.pid });
      await untilArrived(sink, count);
      await untilEmpty(() => deliverer.countLeft(sql));
      const endedNs = Number(process.hrtime.bigint());
      const { requests, firstNs, bodyBytes, connections } = await sink.arrived();
      const processorTime = spent(requests - begun.requests, "delivery");
      await sink.check(leads.ids);
      await deliverer.check?.(sql);
      const { [ofDeliverer]: own = 0, [ofPostgres]: postgres = 0 } = processorTime;
      return {
        "drained/s": count / ((endedNs - firstNs) / 1e9),
        ...processorTime,
        "deliveries per processor second": 1e6 / (own + postgres),
        "bytes of a body": bodyBytes / requests,
        connections,
      };
    },
    told: (found, { commits, bytes, syncs }) => ({
      ...found,
      "commits per 1,000 deliveries": commits / count * 1_000,
      "syncs per 1,000 deliveries": syncs / count * 1_000,
      "WAL bytes per delivery": bytes / count,
    }),
  });
}

const ofDeliverer = "deliverer, processor µs per delivery";
const ofPostgres = "PostgreSQL, processor µs per delivery";

/** Deliveries a second until so many have arrived; what happens to the rest is not looked at. */
export function tryOut(bench: Bench, deliverer: Deliverer, deliveries: number): Promise<number> {
  return onRunning(bench, deliverer, {
    async work(_running, sink) {
      const { firstNs, lastNs, requests } = await untilArrived(sink, deliveries);
      return requests / ((lastNs - firstNs) / 1e9);
    },
    told: (rate) => rate,
  });
}

async function untilArrived(sink: Sink, count: number): Promise<Arrived> {
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

/** Waits until nothing is left, two minutes at most. */
export async function untilEmpty(countLeft: () => Promise<number>): Promise<void> {
  const deadlineMs = performance.now() + 120_000;
  for (let left = await countLeft(); left > 0; left = await countLeft()) {
    if (performance.now() > deadlineMs) throw new Error(`${left} rows are left in the queue`);
    await delay(1);
  }
}
