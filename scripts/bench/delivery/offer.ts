/**
 * One round of leads that are offered at a pace to our service while it delivers to a sink, or does not.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { type Bench, type Measures, quantile } from "../measure.ts";
import { runClient } from "../programs.ts";
import { startService } from "../service.ts";
import { meter } from "../usage.ts";
import { countOutbox, startDelivering, untilEmpty } from "./drain.ts";
import type { Paced, PacerTask } from "./pacer_main.ts";
import { startSink } from "./sink.ts";

/** How leads are offered. */
export interface Offer {
  readonly perSecond: number;
  readonly seconds: number;
  readonly isDelivering: boolean;
}

/**
 * Runs a round on a fresh database.
 *
 * @throws {Error} when a lead was refused, has not arrived at the sink exactly once, or is left in the outbox
 */
export function offer(bench: Bench, { perSecond, seconds, isDelivering }: Offer): Promise<Measures> {
  const { stage, load, options: { warmUpSeconds } } = bench;
  return stage.lend(bench.tree, async (database) => {
    const sink = await startSink(null);
    try {
      const service = isDelivering
        ? await startDelivering(bench, database.url, sink)
        : await startService(bench, { databaseUrl: database.url });
      try {
        const spent = meter({ server: service.pid, PostgreSQL: stage.pid });
        const task: PacerTask = {
          ...load,
          url: `${service.urls.intake}/v1/intake`,
          perSecond,
          seconds: warmUpSeconds + seconds,
          prefix: randomBytes(5).toString("hex"),
        };
        const paced = await runClient<Paced>("delivery/pacer_main.ts", task, task.seconds);
        const processorTime = spent(paced.leads.length, "lead");
        // The warm-up is left out.
        const counted = paced.leads.filter(({ dueNs }) => dueNs >= paced.startNs + warmUpSeconds * 1e9);
        const answers = quantiles(
          "request to 202",
          counted.map(({ sentNs, ackNs }) => ackNs - sentNs),
        );
        if (!isDelivering) return { ...answers, ...processorTime };
        await untilEmpty(() => countOutbox(database.sql));
        const emptyNs = Number(process.hrtime.bigint());
        const arrivals = await sink.check(new Set(paced.leads.map(({ id }) => id)));
        return {
          ...answers,
          // The arrival may come first.
          ...quantiles("202 to arrival", counted.map(({ id, ackNs }) => arrivals.get(id) as number - ackNs)),
          ...processorTime,
          "s from the last 202 until the outbox is empty": (emptyNs - paced.endNs) / 1e9,
        };
      } finally {
        await service.stop();
      }
    } finally {
      await sink.stop();
    }
  });
}

function quantiles(what: string, ns: readonly number[]): Measures {
  return {
    [`${what}, median ms`]: quantile(ns, 0.5) / 1e6,
    [`${what}, 99th percentile ms`]: quantile(ns, 0.99) / 1e6,
  };
}
