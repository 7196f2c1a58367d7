/** Measures how the service drains a backlog, compared with PostgreSQL job queues that contain the same leads. */

import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { payload } from "../../src/store/delivery/payload.ts";
import type { Claimed } from "../../src/store/delivery/outbox.ts";
import { fill } from "./events.ts";
import type { Bench, OpenContender, Suite } from "./measure.ts";
import {
  buildFolder,
  type Measures,
  node,
  type Program,
  run,
  startCpuMeter,
  startPeer,
  startProgram,
  startService,
} from "./programs.ts";

/** A program that drains a backlog. */
interface Deliverer {
  /** The database with its backlog. */
  readonly template: string;
  readonly start: (databaseUrl: string, sinkUrl: string) => Promise<Program>;
  /** Counts the unfinished rows in the program's queue. */
  readonly countLeft: (sql: postgres.Sql) => postgres.PendingQuery<{ n: number }[]>;
}

interface SinkCounts {
  readonly requests: number;
  /** The number of distinct events. */
  readonly distinct: number;
  /** When the first request arrived, in nanoseconds of the monotonic clock. */
  readonly firstNs: number;
}

/** How often the sink's counts are read. */
const pollMs = 20;
/** How long a round may have no delivery before it fails. */
const idleMsMax = 20_000;

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The service with its default settings. */
const ours: OpenContender = async (bench) => {
  const database = await fillOutbox(bench);
  await database.disconnect();
  return drainContender(bench, {
    template: database.name,
    start: (databaseUrl, sinkUrl) => startService(bench, { DATABASE_URL: databaseUrl, ACTIONS_URL: sinkUrl }),
    countLeft: (sql) => sql`select count(*)::int as n from outbox`,
  });
};

async function fillOutbox({ postgresServer, checkout, options: { backlog }, bodies }: Bench) {
  const database = await postgresServer.createDatabase(checkout);
  await fill(database.sql, { events: backlog, pending: backlog, bodies });
  return database;
}

/** A peer with the same bodies in its queue. */
const peer = (
  name: string,
  settings: Readonly<Record<string, number>>,
  countLeft: Deliverer["countLeft"],
): OpenContender =>
async (bench) => {
  const database = await fillOutbox(bench);
  const file = join(buildFolder, "backlog.txt");
  await writeBodies(database.sql, file);
  const env = { DATABASE_URL: database.url, BACKLOG_FILE: file };
  await run(node, [here(`peers/${name}.mjs`), "prepare"], { timeoutMs: 300_000, env });
  await database.waitForClients();
  await database.sql`vacuum analyze`;
  await database.disconnect();
  return drainContender(bench, {
    template: database.name,
    start: (databaseUrl, sinkUrl) =>
      startPeer(name, { ...settings, DATABASE_URL: databaseUrl, ACTIONS_URL: sinkUrl }, ["work"]),
    countLeft,
  });
};

/** Writes one line, `event_id body`, per event, with the body that the service would send. */
async function writeBodies(sql: postgres.Sql, file: string): Promise<void> {
  const out = createWriteStream(file);
  // The order is that of claim_outbox.
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

const drainContender = (bench: Bench, deliverer: Deliverer) => ({ run: () => drain(bench, deliverer) });

/**
 * Drains the whole backlog. The rate is measured from the first delivery until the queue is empty, and the WAL over the
 * program's lifetime. The sink's processor time is not counted.
 *
 * @throws {Error} unless every event was delivered exactly once and the queue is empty
 */
function drain({ postgresServer, options: { backlog } }: Bench, deliverer: Deliverer): Promise<Measures> {
  return postgresServer.withDatabase(deliverer.template, async (database) => {
    const sink = await startProgram("sink", [node, here("sink_main.ts")]);
    try {
      const sinkUrl = sink.urls.sink as string;
      const before = await postgresServer.counters();
      const running = await deliverer.start(database.url, sinkUrl);
      let measures: Measures;
      try {
        const atStart = await waitForDeliveries(sinkUrl, 1);
        const processorMeter = startCpuMeter({ deliverer: running.pid, PostgreSQL: postgresServer.pid });
        await waitForDeliveries(sinkUrl, backlog);
        await waitForEmptyQueue(async () => (await deliverer.countLeft(database.sql))[0]?.n ?? 0);
        const endedNs = Number(process.hrtime.bigint());
        const { requests, firstNs } = await readSinkCounts(sinkUrl);
        if (requests !== backlog) {
          throw new Error(`The sink received ${requests} requests, expected ${backlog}`);
        }
        const processorTime = processorMeter(requests - atStart.requests, "delivery");
        measures = {
          "drained/s": backlog / ((endedNs - firstNs) / 1e9),
          ...processorTime,
          "deliveries per processor second": 1e6 /
            Object.values(processorTime).reduce((sum, us) => sum + us, 0),
        };
      } finally {
        await running.stop();
      }
      // A connection's statistics are complete once the connection has closed.
      await database.waitForClients();
      const after = await postgresServer.counters();
      return {
        ...measures,
        "syncs per 1,000 deliveries": (after.syncs - before.syncs) / backlog * 1_000,
        "WAL bytes per delivery": (after.bytes - before.bytes) / backlog,
      };
    } finally {
      await sink.stop();
    }
  });
}

/** @throws {Error} if a request was not a delivery */
async function readSinkCounts(sinkUrl: string): Promise<SinkCounts> {
  const { fault, ...counts } = await (await fetch(`${sinkUrl}/arrived`)).json();
  if (fault !== "") throw new Error(`The sink: ${fault}`);
  return counts;
}

async function waitForDeliveries(sinkUrl: string, count: number): Promise<SinkCounts> {
  let seen = -1;
  let seenAtMs = performance.now();
  while (true) {
    const counts = await readSinkCounts(sinkUrl);
    if (counts.distinct >= count) return counts;
    const nowMs = performance.now();
    if (counts.distinct > seen) [seen, seenAtMs] = [counts.distinct, nowMs];
    if (nowMs - seenAtMs > idleMsMax) {
      throw new Error(`The sink has received only ${seen} of ${count} events`);
    }
    await delay(pollMs);
  }
}

/** Waits up to two minutes for an empty queue. */
async function waitForEmptyQueue(countLeft: () => Promise<number>): Promise<void> {
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
  about: "draining a backlog, compared with graphile-worker and pg-boss",
  hasPackages: true,
  groups: () => [{
    ours: { ours },
    peers: {
      "graphile-worker": peer(
        "graphile_worker",
        { CONNECTIONS: 64, QUEUE_SIZE: 200, COMPLETE_DELAY_MS: 5 },
        (sql) => sql`select count(*)::int as n from graphile_worker.jobs`,
      ),
      // pg-boss removes completed jobs later.
      "pg-boss": peer(
        "pg_boss",
        { CONNECTIONS: 64, BATCH_SIZE: 500, WORKERS: 4 },
        (sql) =>
          sql`select count(*)::int as n from pgboss.job where name = 'deliver' and state <> 'completed'`,
      ),
    },
  }],
};
