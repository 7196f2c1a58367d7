/**
 * One drain of ours under Node's CPU profiler: the hottest functions, and where the time for a delivery goes.
 *
 * @module
 */

import type postgres from "postgres";
import { type DeliveryBench, makeLeads } from "./backlog.ts";
import { ours } from "./deliverers.ts";
import { drain } from "./drain.ts";
import { offer } from "./offer.ts";
import { openProfile } from "./profile.ts";
import { digits, quantile } from "./stats.ts";

/** What `pg_stat_user_functions` says of one of our functions. */
interface FunctionTime {
  readonly name: string;
  readonly calls: number;
  readonly ms: number;
}

/** Profiles a drain, and leads that are delivered as they come, and returns what was found as text. */
export async function profileDelivery(bench: DeliveryBench): Promise<string> {
  return [...await profileDrain(bench), "", ...await profileOffer(bench)].join("\n");
}

async function profileOffer(bench: DeliveryBench): Promise<string[]> {
  const { options } = bench;
  const profiled = openProfile();
  const wanted = { perSecond: 2_000, seconds: options.offeredSeconds, isDelivering: true };
  const { nodeFlags } = profiled;
  const functions: FunctionTime[] = [];
  const found = await offer(bench, {
    ...wanted,
    nodeFlags,
    async meanwhile({ url, sql }) {
      await bench.stage.trackFunctions(url);
      return { end: async () => void functions.push(...await readFunctions(sql)) };
    },
  });
  const { own, database, sink } = found.cpuUs;
  const leads = wanted.perSecond * (wanted.seconds + options.warmUpSeconds);
  return [
    `${wanted.perSecond} leads/s offered, under the profiler: 202 within ${
      digits(quantile(found.answerMs, 0.5))
    } ms in the median, ${digits(quantile(found.answerMs, 0.99))} ms for 99 %`,
    `processor µs a lead: our process ${digits(own)}, PostgreSQL ${digits(database)}, sink ${digits(sink)}`,
    ...describe(functions, leads),
    ...profiled.read(),
  ];
}

// Drains once without the profiler and once under it.
async function profileDrain(bench: DeliveryBench): Promise<string[]> {
  const leads = await makeLeads(bench);
  const { size } = leads.ids;
  const lines: string[] = [];
  for (const isTls of [false, true]) {
    const { perSecond, cpuUs } = await drain(bench, ours(bench, leads, { isTls }), leads);
    lines.push(
      `${isTls ? "mutual TLS" : "plain HTTP"}, no profiler: ${
        digits(perSecond)
      }/s; processor µs a delivery: ` +
        `our process ${digits(cpuUs.own)}, PostgreSQL ${digits(cpuUs.database)}, sink ${digits(cpuUs.sink)}`,
    );
  }
  const profiled = openProfile();
  const functions: FunctionTime[] = [];
  const subject = ours(bench, leads, { isTls: false, nodeFlags: profiled.nodeFlags });
  const { perSecond } = await drain(bench, {
    ...subject,
    async start(databaseUrl, sink) {
      await bench.stage.trackFunctions(databaseUrl);
      return await subject.start(databaseUrl, sink);
    },
    async check(sql) {
      functions.push(...await readFunctions(sql));
    },
  }, leads);
  return [
    ...lines,
    `under the profiler: ${digits(perSecond)}/s`,
    ...describe(functions, size),
    ...profiled.read(),
  ];
}

function readFunctions(sql: postgres.Sql): Promise<FunctionTime[]> {
  // The server hands in a connection's statistics at most once a second.
  return sql`select pg_sleep(1.5)`.then(() =>
    sql<FunctionTime[]>`
      select funcname as name, calls::int as calls, self_time as ms from pg_stat_user_functions
      order by self_time desc`
  );
}

function describe(functions: readonly FunctionTime[], leads: number): string[] {
  return functions.map(({ name, calls, ms }) =>
    `${name}: ${calls} calls, ${digits(ms / calls)} ms each, ${digits(leads / calls)} leads each, ` +
    `${digits(ms * 1_000 / leads)} µs a lead`
  );
}
