/**
 * A backlog and those who drain it: our service with its defaults, and job queues in PostgreSQL with the same leads.
 *
 * @module
 */

import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { payload } from "../../../src/delivery/payload.ts";
import type { Claimed } from "../../../src/store/delivery/outbox.ts";
import { fill } from "../load/events.ts";
import type { Bench, Measures } from "../measure.ts";
import { buildFolder, node, type Program, run, say, type Tree } from "../programs.ts";
import { startPeer, startService } from "../service.ts";
import type { Database } from "../stage.ts";
import { meter } from "../usage.ts";
import { type Arrived, type Sink, startSink } from "./sink.ts";

/** The events of a backlog. */
export interface Leads {
  /** The database in whose outbox they wait. */
  readonly template: string;
  readonly ids: ReadonlySet<string>;
  /** `event_id body` a line, as we send them. */
  readonly file: string;
}

/** A service that delivers what waits in a database. */
export interface Deliverer {
  /** The database with its backlog. */
  readonly template: string;
  readonly isTls: boolean;
  readonly start: (databaseUrl: string, sink: Sink) => Promise<Program>;
  /** Rows in its queue that are not done. */
  readonly countLeft: (sql: postgres.Sql) => Promise<number>;
}

const made = new Map<Tree, Promise<Leads>>();

/** The leads that wait in our outbox; made once for each tree. */
export function backlogOf(bench: Bench): Promise<Leads> {
  const known = made.get(bench.tree) ?? makeLeads(bench);
  made.set(bench.tree, known);
  return known;
}

async function makeLeads({ stage, tree, options: { backlog }, bodies }: Bench): Promise<Leads> {
  const database = await stage.createDatabase(tree);
  await fill(database.sql, { events: backlog, pending: backlog, bodies });
  const file = join(buildFolder, `backlog_${database.name}.txt`);
  const ids = await writeBodies(database, file);
  await database.disconnect();
  return { template: database.name, ids, file };
}

async function writeBodies({ sql }: Database, file: string): Promise<Set<string>> {
  const ids = new Set<string>();
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
    for (const row of chunk) ids.add(row.event_id);
    out.write(chunk.map((row) => `${row.event_id} ${payload(row)}\n`).join(""));
  }
  out.end();
  await finished(out);
  return ids;
}

/** Starts our service so that it delivers to the sink, which asks for a certificate when it speaks TLS. */
export function startDelivering(bench: Bench, databaseUrl: string, sink: Sink): Promise<Program> {
  const { caFile, clientCertFile, clientKeyFile } = bench.certificates;
  const files = {
    ACTIONS_CA_FILE: caFile,
    ACTIONS_CLIENT_CERT_FILE: clientCertFile,
    ACTIONS_CLIENT_KEY_FILE: clientKeyFile,
  };
  const env = { ACTIONS_URL: sink.url, ...(sink.url.startsWith("https:") ? files : {}) };
  return startService(bench, { databaseUrl, env });
}

/** Our service. */
export function ourDeliverer(bench: Bench, { template }: Leads, isTls: boolean): Deliverer {
  return {
    template,
    isTls,
    start: (databaseUrl, sink) => startDelivering(bench, databaseUrl, sink),
    countLeft: countOutbox,
  };
}

/** Rows in our outbox. */
export async function countOutbox(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ n: number }[]>`select count(*)::int as n from outbox`;
  return row?.n ?? 0;
}

/** Rows that are not done in the queues of the peers; pg-boss keeps what is completed, and removes it later. */
const countQueued = {
  graphile_worker: (sql: postgres.Sql) => sql`select count(*)::int as n from graphile_worker.jobs`,
  pg_boss: (sql: postgres.Sql) =>
    sql`select count(*)::int as n from pgboss.job where name = 'deliver' and state <> 'completed'`,
} as const;

/** Peers that deliver from a queue in PostgreSQL. */
export type QueuePeer = keyof typeof countQueued;

/** A peer whose queue has the same bodies, in a database of its own. */
export async function queue(
  { stage, tree }: Bench,
  leads: Leads,
  { peer, settings }: { peer: QueuePeer; settings: Readonly<Record<string, string | number>> },
): Promise<Deliverer> {
  const database = await stage.createDatabase(tree);
  say(`filling the queue of ${peer}`);
  const script = fileURLToPath(new URL(`../peers/${peer}.mjs`, import.meta.url));
  await run(node, [script, "prepare"], {
    timeoutMs: 300_000,
    env: { DATABASE_URL: database.url, BACKLOG_FILE: leads.file },
  });
  await database.quiet();
  await database.sql`vacuum analyze`;
  await database.disconnect();
  return {
    template: database.name,
    isTls: false,
    start: (databaseUrl, { url }) =>
      startPeer(peer, { ...settings, DATABASE_URL: databaseUrl, ACTIONS_URL: url }, ["work"]),
    countLeft: async (sql) => Number((await countQueued[peer](sql))[0]?.n),
  };
}

/** Between looks at the sink. */
const pollMs = 20;
/** Without an arrival for so long, the round has failed. */
const silenceMaxMs = 20_000;

/**
 * Drains the whole backlog: the rate is from the first arrival at the sink until the queue is empty; commits and WAL are
 * those from the deliverer's start to its end. The sink's processor time counts for neither side.
 *
 * @throws {Error} when not every event has arrived exactly once, or something is left in the queue
 */
export function drain(bench: Bench, deliverer: Deliverer, { ids }: Leads): Promise<Measures> {
  const { stage, certificates } = bench;
  return stage.lend(deliverer.template, async (database) => {
    const sink = await startSink(deliverer.isTls ? certificates : null);
    try {
      const before = await stage.counters(database);
      const running = await deliverer.start(database.url, sink);
      let found: Measures;
      try {
        const begun = await untilArrived(sink, 1);
        const spent = meter({ deliverer: running.pid, PostgreSQL: stage.pid });
        await untilArrived(sink, ids.size);
        await untilEmpty(() => deliverer.countLeft(database.sql));
        const endedNs = Number(process.hrtime.bigint());
        const { requests, firstNs } = await sink.arrived();
        const processorTime = spent(requests - begun.requests, "delivery");
        await sink.check(ids);
        const us = Object.values(processorTime).reduce((sum, one) => sum + one, 0);
        found = {
          "drained/s": ids.size / ((endedNs - firstNs) / 1e9),
          ...processorTime,
          "deliveries per processor second": 1e6 / us,
        };
      } finally {
        await running.stop();
      }
      // The counts of a connection are in once it has ended.
      await database.quiet();
      const after = await stage.counters(database);
      return {
        ...found,
        "commits per 1,000 deliveries": (after.commits - before.commits) / ids.size * 1_000,
        "syncs per 1,000 deliveries": (after.syncs - before.syncs) / ids.size * 1_000,
        "WAL bytes per delivery": (after.bytes - before.bytes) / ids.size,
      };
    } finally {
      await sink.stop();
    }
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
