/**
 * One round of one deliverer on a copy of its backlog: it starts, everything arrives at the sink, nothing is
 * left in its queue, it stops.
 *
 * @module
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Program } from "../programs.ts";
import type { Database } from "../stage.ts";
import type { Bench, Measures } from "../suite.ts";
import { meter } from "../usage.ts";
import type { Deliverer, Leads } from "./deliverers.ts";
import { type Arrived, type Sink, startSink } from "./sink.ts";

/** Between looks at the sink. */
const pollMs = 20;
/** Without an arrival for so long, the round has failed. */
const silenceMaxMs = 20_000;

/** Runs work on a running deliverer and ends everything after it. */
function onRunning<T>(
  { stage, certificates }: Bench,
  deliverer: Deliverer,
  work: (running: Program, sink: Sink, database: Database) => Promise<T>,
): Promise<T> {
  return stage.lend(deliverer.template, async (database) => {
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
    }
  });
}

/**
 * Drains the whole backlog: the rate is from the first arrival at the sink until the queue is empty.
 *
 * @throws {Error} when not every event has arrived exactly once, or something is left in the queue
 */
export function drain(bench: Bench, deliverer: Deliverer, leads: Leads): Promise<Measures> {
  return onRunning(bench, deliverer, async (running, sink, { sql }) => {
    const begun = await untilArrived(sink, 1);
    const spent = meter({ deliverer: running.pid, PostgreSQL: bench.stage.pid, sink: sink.pid });
    await untilArrived(sink, leads.ids.size);
    await untilEmpty(() => deliverer.countLeft(sql));
    const endedNs = Number(process.hrtime.bigint());
    const { requests, firstNs, bodyBytes, connections } = await sink.arrived();
    const processorTime = spent(requests - begun.requests, "delivery");
    await sink.check(leads.ids);
    await deliverer.check?.(sql);
    return {
      "drained/s": leads.ids.size / ((endedNs - firstNs) / 1e9),
      ...processorTime,
      "bytes of a body": bodyBytes / requests,
      connections,
    };
  });
}

/** Deliveries a second until so many have arrived; what happens to the rest is not looked at. */
export function tryOut(bench: Bench, deliverer: Deliverer, deliveries: number): Promise<number> {
  return onRunning(bench, deliverer, async (_running, sink) => {
    const { firstNs, lastNs, requests } = await untilArrived(sink, deliveries);
    return requests / ((lastNs - firstNs) / 1e9);
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
