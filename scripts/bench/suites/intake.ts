/**
 * What the intake must reach: throughput, latency, writes, memory and start, beside its peers on one PostgreSQL.
 *
 * @module
 */

import { fill } from "../load/events.ts";
import { loadTarget, onStore, type Posting, type Start } from "../load/posting.ts";
import { openPgbench } from "../peers/pgbench.ts";
import { startPeer, startService } from "../service.ts";
import type { Database } from "../stage.ts";
import type { Contender, Group, Measures, Open, Suite } from "../suite.ts";
import { climb } from "../tuning.ts";
import { readMemory } from "../usage.ts";

const inFlight = 64;

const startOurs: Start = (bench, { url }) => startService(bench, { databaseUrl: url });

const startFastify = (poolSize: number): Start => (_bench, { url }) =>
  startPeer("fastify", { DATABASE_URL: url, POOL_SIZE: poolSize });

const onFresh = (start: Start, posting: Posting): Open => (bench) => ({
  run: () => bench.stage.lend(bench.tree, (database) => onStore(bench, database, start, posting)),
});

/** Fastify with the pool with which it accepts most. */
const fastify: Open = async (bench) => {
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

const bare: Open = async (bench) => {
  const target = await startPeer("bare", {});
  return {
    run: async () => (await loadTarget(bench, target, { connections: inFlight })).measures,
    close: () => target.stop(),
  };
};

/** From the start of the process to its first 202, on a migrated database. */
const start: Open = async (bench) => {
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
      return { "s to the first 202": seconds, "MiB resident": readMemory(target.pid).residentMiB };
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
const onStored =
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
const onEmpty: Open = (bench) => {
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

const saturation: Group = {
  rows: {
    fastify: {
      name: "leads/s, 64 in flight, against Fastify + node-postgres",
      of: "leads/s",
      ours: "ours",
      peer: "Fastify",
      target: { atLeast: 3 },
    },
    pgbench: {
      name: "leads/s against pgbench -M prepared, one lead a transaction",
      of: "leads/s",
      ours: "ours",
      peer: "pgbench",
      target: { atLeast: 1 },
    },
    bare: {
      name: "leads/s against bare node:http without a store",
      of: "leads/s",
      ours: "ours",
      peer: "bare node:http",
      target: { atLeast: 0.25 },
    },
    syncs: {
      name: "WAL syncs per accepted lead at saturation",
      of: "WAL syncs a lead",
      unit: "",
      ours: "ours",
      target: { atMost: 0.1 },
      note: "pg_stat_io.fsyncs of object wal, context normal, from the server's start to its end",
    },
    memory: {
      name: "resident memory at saturation",
      of: "MiB resident, highest",
      unit: "MiB",
      ours: "ours",
      target: { atMost: 150 },
      judged: "highest",
      note: "judged by the highest VmHWM of all rounds",
    },
  },
  ours: { ours: onFresh(startOurs, { connections: inFlight }) },
  peers: { "Fastify": fastify, "pgbench": openPgbench, "bare node:http": bare },
};

const latency: Group = {
  rows: {
    latency: {
      name: "one in flight: median latency against Fastify",
      of: "median ms",
      ours: "ours, one in flight",
      peer: "Fastify, one in flight",
      target: { atMost: 1.3 },
    },
  },
  ours: { "ours, one in flight": onFresh(startOurs, { connections: 1 }) },
  // With one request in flight, one connection is in use; the pool keeps a spare one.
  peers: { "Fastify, one in flight": onFresh(startFastify(2), { connections: 1 }) },
};

const started: Group = {
  rows: {
    start: {
      name: "start of the process to its first 202, migrated database",
      of: "s to the first 202",
      unit: "s",
      ours: "start",
      target: { atMost: 1 },
    },
  },
  ours: { start },
};

const stored = (events: number): Group => ({
  rows: {
    stored: {
      name: `leads/s with ${events.toLocaleString("en-US")} events stored, against an empty store`,
      of: "leads/s",
      ours: "full",
      peer: "empty",
      target: { atLeast: 0.9 },
      note:
        "one checkpoint before the first round, which so pays for the first change of each page; none between rounds",
    },
  },
  ours: { full: onStored(events), empty: onEmpty },
});

const indexes = (events: number): Group => ({
  rows: {
    indexes: {
      name: "leads/s with the operator's search indexes, against the same store without them",
      of: "leads/s",
      ours: "with the search's indexes",
      peer: "without them",
      target: { atLeast: 0.75 },
    },
  },
  // The cost hardly grows with the store, since new entries go to the end of each index.
  ours: {
    "with the search's indexes": onStored(Math.ceil(events / 10)),
    "without them": onStored(Math.ceil(events / 10), { dropsIndexes: true }),
  },
});

/** `npm run bench -- intake`. */
export const intake: Suite = {
  about: "what the intake must reach",
  needs: { wrk: "wrk" },
  hasPackages: true,
  conditions: [
    "one machine for client, server and PostgreSQL; loopback; wrk with one thread; a fresh database each round",
    "ours: src/main.ts with everything on, its access log written to a file on the same disk, limits raised",
    "Fastify: one process as ours; its logger is off, it has no rate limits, no access log, no request ids",
    "pgbench: event and outbox row only; no look at the key, no spend, no HTTP",
    "leads: 500 to 700 bytes, each with an Idempotency-Key of its own, 16 keys of 8 tenants, half with a cost",
    "checked after each round: every acknowledged lead is in the store",
  ],
  groups: ({ events }) => [saturation, latency, started, stored(events), indexes(events)],
};
