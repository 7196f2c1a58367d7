/**
 * Who delivers: our service as it runs in production, and the peers with the settings that they are given.
 *
 * @module
 */

import { join } from "node:path";
import type postgres from "postgres";
import { type DeliveryBench, type Leads, peerScript } from "./backlog.ts";
import { start, stop } from "./children.ts";
import type { DevCertificates } from "../dev_certificates.ts";
import type { Deliverer, Running } from "./drain.ts";
import type { Sink } from "./sink.ts";
import { buildFolder, startOurs, type Target } from "./targets.ts";

/** Starts our service so that it delivers to the sink. */
export function startDelivering(
  { databaseUrl, sink, certificates, nodeFlags = [] }: {
    databaseUrl: string;
    sink: Sink;
    /** For the mutual TLS of an https sink. */
    certificates: DevCertificates;
    nodeFlags?: readonly string[];
  },
): Promise<Target> {
  const files = {
    ACTIONS_CA_FILE: certificates.caFile,
    ACTIONS_CLIENT_CERT_FILE: certificates.clientCertFile,
    ACTIONS_CLIENT_KEY_FILE: certificates.clientKeyFile,
  };
  const env = { ACTIONS_URL: sink.url, ...(sink.url.startsWith("https:") ? files : {}) };
  return startOurs({ databaseUrl, nodeFlags, env });
}

/** Ours, with its defaults. */
export function ours(
  { certificates }: DeliveryBench,
  leads: Leads,
  { isTls, nodeFlags = [] }: { isTls: boolean; nodeFlags?: readonly string[] },
): Deliverer {
  return {
    name: isTls ? "ours over mutual TLS" : "ours",
    template: leads.template,
    isTls,
    start: (databaseUrl, sink) => startDelivering({ databaseUrl, sink, certificates, nodeFlags }),
    countLeft: countOutbox,
    check: checkHistory,
  };
}

/** Rows in our outbox. */
export async function countOutbox(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<
    { n: number }[]
  >`select count(*)::int as n from outbox`;
  return row?.n ?? 0;
}

async function checkHistory(sql: postgres.Sql, leads: Leads): Promise<void> {
  const [row] = await sql<
    { attempts: number; delivered: number; dead: number; tally: number }[]
  >`
    select
      (select count(*)::int from attempt) as attempts,
      (select count(distinct event_id)::int from attempt where outcome = 'delivered') as delivered,
      (select count(*)::int from dead_letter) as dead,
      (select coalesce(sum(delta), 0)::int from outbox_tally) as tally`;
  const size = leads.ids.size;
  if (
    row?.attempts !== size || row.delivered !== size || row.dead !== 0 || row.tally !== 0
  ) {
    throw new Error(`The history of ${size} deliveries is not right: ${JSON.stringify(row)}`);
  }
}

/** How graphile-worker is run. */
export interface GraphileSettings {
  readonly client: "http" | "undici";
  readonly concurrency: number;
  readonly queueSize: number;
  readonly completeDelayMs: number;
}

/** graphile-worker. */
export function graphile(template: string, settings: GraphileSettings): Deliverer {
  const { client, concurrency, queueSize, completeDelayMs } = settings;
  return {
    name:
      `graphile-worker (${client}, ${concurrency} jobs at once, localQueue ${queueSize}, completeJobBatchDelay ${completeDelayMs})`,
    template,
    isTls: false,
    start: (databaseUrl, sink) =>
      startPeer("graphile_worker", {
        DATABASE_URL: databaseUrl,
        ACTIONS_URL: sink.url,
        CLIENT: client,
        CONNECTIONS: String(concurrency),
        CONCURRENCY: String(concurrency),
        QUEUE_SIZE: String(queueSize),
        COMPLETE_DELAY_MS: String(completeDelayMs),
      }),
    async countLeft(sql) {
      const [row] = await sql<
        { n: number }[]
      >`select count(*)::int as n from graphile_worker.jobs`;
      return row?.n ?? 0;
    },
  };
}

/** How pg-boss is run. */
export interface BossSettings {
  readonly client: "http" | "undici";
  readonly batchSize: number;
  readonly workers: number;
  readonly connections: number;
}

/** pg-boss. */
export function boss(template: string, settings: BossSettings): Deliverer {
  const { client, batchSize, workers, connections } = settings;
  return {
    name:
      `pg-boss (${client}, batchSize ${batchSize}, localConcurrency ${workers}, ${connections} connections)`,
    template,
    isTls: false,
    start: (databaseUrl, sink) =>
      startPeer("pg_boss", {
        DATABASE_URL: databaseUrl,
        ACTIONS_URL: sink.url,
        CLIENT: client,
        CONNECTIONS: String(connections),
        BATCH_SIZE: String(batchSize),
        WORKERS: String(workers),
      }),
    async countLeft(sql) {
      // It keeps what is completed, and its maintenance removes it later.
      const [row] = await sql<{ n: number }[]>`
        select count(*)::int as n from pgboss.job where name = 'deliver' and state <> 'completed'`;
      return row?.n ?? 0;
    },
  };
}

function startPeer(peer: "graphile_worker" | "pg_boss", env: Record<string, string>): Promise<Running> {
  const logFile = join(buildFolder, `${peer}.log`);
  const child = start(process.execPath, [peerScript(peer), "work"], {
    cwd: buildFolder,
    logFile,
    env: { ...env, NODE_ENV: "production" },
  });
  return Promise.resolve({ pid: child.pid as number, stop: () => stop(child) });
}
