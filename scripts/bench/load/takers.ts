/**
 * Who takes part in the rounds of the intake: our service and servers that do less, on stores that are empty or not.
 *
 * @module
 */

import { programOf, startPeer, startService } from "../service.ts";
import type { Database } from "../stage.ts";
import type { Contender, Measures, Open } from "../suite.ts";
import { climb } from "../tuning.ts";
import { cpuSeconds, readMemory } from "../usage.ts";
import { fill } from "./events.ts";
import { heapProbe } from "./heap.ts";
import { loadTarget, onStore, type Posting, type Start } from "./posting.ts";

/** Requests in flight at saturation. */
export const inFlight = 64;

/** Our service, with everything on. */
export const startOurs: Start = (bench, { url }) => startService(bench, { databaseUrl: url, ...heapProbe });

const startWatched = (name: string, settings: Readonly<Record<string, string | number>>) =>
  startPeer(name, { ...settings, ...heapProbe.env }, heapProbe);

/** Our service in so many processes, whose allocations nobody counts. */
export const startProcesses = (count: number): Start => (bench, { url }) =>
  startService(bench, { databaseUrl: url, env: { INTAKE_PROCESSES: String(count) } });

/** Fastify with so many connections to PostgreSQL. */
export const startFastify = (poolSize: number): Start => (_bench, { url }) =>
  startWatched("fastify", { DATABASE_URL: url, POOL_SIZE: poolSize });

/** A server that stores, on an empty database each round. */
export const onFresh = (start: Start, posting: Posting): Open => (bench) => ({
  run: () => bench.stage.lend(bench.tree, (database) => onStore(bench, database, start, posting)),
});

/** Fastify with the pool with which it accepts most. */
export const fastify: Open = async (bench) => {
  const { quick } = bench.options;
  const tried = { connections: inFlight, seconds: quick ? 2 : 5 };
  const { best, note } = await climb(
    "Fastify",
    { poolSize: 16 },
    [{ poolSize: quick ? [32] : [4, 8, 12, 24, 32, 64] }],
    async ({ poolSize }) => (await (await onFresh(startFastify(poolSize), tried)(bench)).run())["leads/s"],
  );
  return { ...await onFresh(startFastify(best.poolSize), { connections: inFlight })(bench), note };
};

/** The bare server: it parses the body, answers and does nothing else. */
export const bare: Open = async (bench) => {
  const target = await startWatched("bare", {});
  return {
    run: async () => (await loadTarget(bench, target, { connections: inFlight })).measures,
    close: () => target.stop(),
  };
};

/** From the start of the process to its first 202, on a migrated database. */
export const start: Open = async (bench) => {
  // Before the clock runs.
  await programOf(bench.tree);
  const database = await bench.stage.createDatabase(bench.tree);
  let starts = 0;
  const once = async (): Promise<Measures> => {
    const startedAtMs = performance.now();
    const target = await startService(bench, { databaseUrl: database.url, listener: "intake" });
    try {
      const headers = {
        "Content-Type": "application/json",
        "X-API-Key": bench.stage.keys[0] as string,
        "Idempotency-Key": `provider:start-${starts += 1}`,
      };
      const answer = await fetch(`${target.urls.intake}/v1/intake`, {
        method: "POST",
        headers,
        body: bench.bodies[0] as string,
      });
      if (answer.status !== 202) throw new Error(`The first answer was ${answer.status}`);
      const seconds = (performance.now() - startedAtMs) / 1_000;
      await answer.text();
      const processorMs = cpuSeconds(target.pid) * 1_000;
      return {
        "s to the first 202": seconds,
        "processor ms to the first 202": processorMs,
        "MiB resident": readMemory(target.pid).residentMiB,
      };
    } finally {
      await target.stop();
      await database.quiet();
    }
  };
  return { run: once, close: () => database.drop() };
};

/**
 * A store that is used in every round. No checkpoint and no DROP DATABASE, which takes one, between the rounds: the
 * first change of each page after it is costly, and a service meets that every few minutes, not every few seconds.
 */
export const onStored =
  (events: number, { dropsIndexes = false } = {}): Open => async (bench): Promise<Contender> => {
    const database = await bench.stage.createDatabase(bench.tree);
    // Delivered events have no outbox row; some of the newest wait, as after a short outage downstream.
    await fill(database.sql, { events, pending: Math.min(5_000, events), bodies: bench.bodies });
    const dropped = dropsIndexes ? await dropSearchIndexes(database) : [];
    await bench.stage.checkpoint();
    return {
      note: [`${events.toLocaleString("en-US")} events stored`, ...dropped].join(", without "),
      run: () => onStore(bench, database, startOurs, { connections: inFlight }),
      close: () => database.drop(),
    };
  };

/** Those of the operator's search. */
async function dropSearchIndexes({ sql }: Database): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select indexname as name from pg_indexes
    where tablename = 'event' and indexname not in ('event_pkey', 'event_dedupe') order by 1`;
  for (const { name } of rows) await sql`drop index ${sql(name)}`;
  return rows.map(({ name }) => name);
}

/** Empty stores, none of which is dropped before the last round is over. */
export const onEmpty: Open = (bench) => {
  const used: Database[] = [];
  return {
    run: async () => {
      const database = await bench.stage.createDatabase(bench.tree);
      used.push(database);
      return await onStore(bench, database, startOurs, { connections: inFlight });
    },
    close: () => Promise.all(used.map((database) => database.drop())),
  };
};
