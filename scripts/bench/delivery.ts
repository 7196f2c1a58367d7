/**
 * The delivery: a backlog that the service drains, beside job queues in PostgreSQL with the same leads.
 *
 * @module
 */

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

/** What drains a backlog. */
interface Deliverer {
  /** The database with its backlog. */
  readonly template: string;
  readonly start: (databaseUrl: string, sinkUrl: string) => Promise<Program>;
  /** Rows in its queue that are not done. */
  readonly countLeft: (sql: postgres.Sql) => postgres.PendingQuery<{ n: number }[]>;
}

/** What the sink has received. */
interface Arrived {
  readonly requests: number;
  /** Events, each counted once. */
  readonly distinct: number;
  /** Of the first request, in nanoseconds of the machine's monotonic clock. */
  readonly firstNs: number;
}

/** Between looks at the sink. */
const pollMs = 20;
/** Without an arrival for so long, the round has failed. */
const silenceMaxMs = 20_000;

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The service, with its defaults. */
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

/** A peer whose queue has the same bodies. */
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

/** Writes `event_id body` a line, as the service sends them. */
async function writeBodies(sql: postgres.Sql, file: string): Promise<void> {
  const out = createWriteStream(file);
  // As claim_outbox reads them.
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
 * Drains the whole backlog: the rate is from the first arrival at the sink until the queue is empty, the WAL from the
 * deliverer's start to its end. The sink's processor time is not counted.
 *
 * @throws {Error} when not every event has arrived exactly once, or something is left in the queue
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
      // The counts of a connection are in once it has ended.
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

/** @throws {Error} when something came that is no delivery */
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

/** Waits until nothing is left, two minutes at most. */
async function untilEmpty(countLeft: () => Promise<number>): Promise<void> {
  const deadlineMs = performance.now() + 120_000;
  for (let left = await countLeft(); left > 0; left = await countLeft()) {
    if (performance.now() > deadlineMs) {
      throw new Error(`${left} rows are left in the queue`);
    }
    await delay(1);
  }
}

/** `npm run bench -- delivery`. The peers' settings: the fastest of some fifteen combinations each. */
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
      // It keeps what is completed, and removes it later.
      "pg-boss": peer(
        "pg_boss",
        { CONNECTIONS: 64, BATCH_SIZE: 500, WORKERS: 4 },
        (sql) =>
          sql`select count(*)::int as n from pgboss.job where name = 'deliver' and state <> 'completed'`,
      ),
    },
  }],
};
