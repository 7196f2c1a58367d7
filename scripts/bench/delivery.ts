/** Delivery: the service drains a backlog, compared with PostgreSQL job queues that hold the same leads. */

import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { payload } from "../../src/delivery/send.ts";
import type { Claimed } from "../../src/store/delivery/outbox.ts";
import { fill } from "./events.ts";
import type { Bench, Open, Suite } from "./measure.ts";
import {
  buildFolder,
  type Measures,
  meter,
  node,
  type Program,
  run,
  startPeer,
  startProgram,
  startService,
} from "./programs.ts";

/** A program that drains a backlog. */
interface Deliverer {
  /** The database with its backlog. */
  readonly template: string;
  readonly start: (databaseUrl: string, sinkUrl: string) => Promise<Program>;
  /** Unfinished rows in its queue. */
  readonly countLeft: (sql: postgres.Sql) => postgres.PendingQuery<{ n: number }[]>;
}

/** The sink's counts. */
interface Arrived {
  readonly requests: number;
  /** Distinct events. */
  readonly distinct: number;
  /** When the first request came, in nanoseconds of the monotonic clock. */
  readonly firstNs: number;
}

/** Between reads of the sink's counts. */
const pollMs = 20;
/** A round fails after this long without a delivery. */
const silenceMaxMs = 20_000;

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The service with its default settings. */
const ours: Open = async (bench) => {
  const database = await fillOutbox(bench);
  await database.disconnect();
  return drains(bench, {
    template: database.name,
    start: (databaseUrl, sinkUrl) => startService(bench, { DATABASE_URL: databaseUrl, ACTIONS_URL: sinkUrl }),
    countLeft: (sql) => sql`select count(*)::int as n from outbox`,
  });
};

async function fillOutbox({ stage, tree, options: { backlog }, bodies }: Bench) {
  const database = await stage.createDatabase(tree);
  await fill(database.sql, { events: backlog, pending: backlog, bodies });
  return database;
}

/** A peer with the same bodies in its queue. */
const peer =
  (name: string, settings: Readonly<Record<string, number>>, countLeft: Deliverer["countLeft"]): Open =>
  async (bench) => {
    const database = await fillOutbox(bench);
    const file = join(buildFolder, "backlog.txt");
    await writeBodies(database.sql, file);
    const env = { DATABASE_URL: database.url, BACKLOG_FILE: file };
    await run(node, [here(`peers/${name}.mjs`), "prepare"], { timeoutMs: 300_000, env });
    await database.quiet();
    await database.sql`vacuum analyze`;
    await database.disconnect();
    return drains(bench, {
      template: database.name,
      start: (databaseUrl, sinkUrl) =>
        startPeer(name, { ...settings, DATABASE_URL: databaseUrl, ACTIONS_URL: sinkUrl }, ["work"]),
      countLeft,
    });
  };

/** Writes a line `event_id body` per event, as the service sends it. */
async function writeBodies(sql: postgres.Sql, file: string): Promise<void> {
  const out = createWriteStream(file);
  // In claim_outbox's order.
  const rows = sql<Claimed[]>`
    select e.event_id, e.kind, t.slug as tenant, k.label as source, array_to_string(e.flags, ',') as flags,
      to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as received_at,
      e.lead::text as lead, e.extra, 1 as number
    from event as e
    join tenant as t on t.id = e.tenant_id
    join api_key as k on k.id = e.key_id
    order by e.event_id`;
  for await (const chunk of rows.cursor(5_000)) {
    out.write(chunk.map((row) => `${row.event_id} ${payload(row)}\n`).join(""));
  }
  out.end();
  await finished(out);
}

const drains = (bench: Bench, deliverer: Deliverer) => ({ run: () => drain(bench, deliverer) });

/**
 * Drains the whole backlog. The rate is measured from the first delivery until the queue is empty, WAL over the program's
 * lifetime; the sink's processor time is not counted.
 *
 * @throws {Error} unless every event arrived exactly once and the queue is empty
 */
function drain({ stage, options: { backlog } }: Bench, deliverer: Deliverer): Promise<Measures> {
  return stage.lend(deliverer.template, async (database) => {
    const sink = await startProgram("sink", [node, here("sink_main.ts")]);
    try {
      const sinkUrl = sink.urls.sink as string;
      const before = await stage.counters();
      const running = await deliverer.start(database.url, sinkUrl);
      let found: Measures;
      try {
        const begun = await untilArrived(sinkUrl, 1);
        const spent = meter({ deliverer: running.pid, PostgreSQL: stage.pid });
        await untilArrived(sinkUrl, backlog);
        await untilEmpty(async () => (await deliverer.countLeft(database.sql))[0]?.n ?? 0);
        const endedNs = Number(process.hrtime.bigint());
        const { requests, firstNs } = await arrivedAt(sinkUrl);
        if (requests !== backlog) {
          throw new Error(`${backlog} events came in ${requests} requests`);
        }
        const processorTime = spent(requests - begun.requests, "delivery");
        found = {
          "drained/s": backlog / ((endedNs - firstNs) / 1e9),
          ...processorTime,
          "deliveries per processor second": 1e6 /
            Object.values(processorTime).reduce((sum, us) => sum + us, 0),
        };
      } finally {
        await running.stop();
      }
      // A connection's statistics are complete once it has closed.
      await database.quiet();
      const after = await stage.counters();
      return {
        ...found,
        "syncs per 1,000 deliveries": (after.syncs - before.syncs) / backlog * 1_000,
        "WAL bytes per delivery": (after.bytes - before.bytes) / backlog,
      };
    } finally {
      await sink.stop();
    }
  });
}

/** @throws {Error} if a request was not a delivery */
async function arrivedAt(sinkUrl: string): Promise<Arrived> {
  const { fault, ...arrived } = await (await fetch(`${sinkUrl}/arrived`)).json();
  if (fault !== "") throw new Error(`The sink: ${fault}`);
  return arrived;
}

async function untilArrived(sinkUrl: string, count: number): Promise<Arrived> {
  let seen = -1;
  let seenAtMs = performance.now();
  while (true) {
    const arrived = await arrivedAt(sinkUrl);
    if (arrived.distinct >= count) return arrived;
    const nowMs = performance.now();
    if (arrived.distinct > seen) [seen, seenAtMs] = [arrived.distinct, nowMs];
    if (nowMs - seenAtMs > silenceMaxMs) {
      throw new Error(`${seen} of ${count} events have arrived, and nothing more comes`);
    }
    await delay(pollMs);
  }
}

/** Waits up to two minutes for an empty queue. */
async function untilEmpty(countLeft: () => Promise<number>): Promise<void> {
  const deadlineMs = performance.now() + 120_000;
  for (let left = await countLeft(); left > 0; left = await countLeft()) {
    if (performance.now() > deadlineMs) {
      throw new Error(`${left} rows are left in the queue`);
    }
    await delay(1);
  }
}

/** `npm run bench -- delivery`. The peers' settings are the fastest of about fifteen combinations each. */
export const delivery: Suite = {
  about: "a drained backlog, beside graphile-worker and pg-boss",
  hasPackages: true,
  groups: () => [{
    ours: { ours },
    peers: {
      "graphile-worker": peer(
        "graphile_worker",
        { CONNECTIONS: 64, QUEUE_SIZE: 200, COMPLETE_DELAY_MS: 5 },
        (sql) => sql`select count(*)::int as n from graphile_worker.jobs`,
      ),
      // It keeps completed jobs and removes them later.
      "pg-boss": peer(
        "pg_boss",
        { CONNECTIONS: 64, BATCH_SIZE: 500, WORKERS: 4 },
        (sql) =>
          sql`select count(*)::int as n from pgboss.job where name = 'deliver' and state <> 'completed'`,
      ),
    },
  }],
};
