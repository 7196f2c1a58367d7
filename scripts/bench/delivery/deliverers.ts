/**
 * Who delivers: our service as it runs in production, and the peers with the settings that they are given.
 *
 * @module
 */

import type postgres from "postgres";
import type { Program } from "../programs.ts";
import { startPeer, startService } from "../service.ts";
import type { Bench } from "../suite.ts";
import type { Leads } from "./backlog.ts";
import type { Sink } from "./sink.ts";

/** Somebody who delivers what waits in a database. */
export interface Deliverer {
  /** The database with its backlog. */
  readonly template: string;
  readonly isTls: boolean;
  readonly start: (databaseUrl: string, sink: Sink) => Promise<Program>;
  /** Rows in its queue that are not done. */
  readonly countLeft: (sql: postgres.Sql) => Promise<number>;
  /** Looks at the rest of its database after a whole drain; throws when something is wrong. */
  readonly check?: (sql: postgres.Sql) => Promise<void>;
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

/** Ours, with its defaults. */
export function ours(bench: Bench, { template, ids }: Leads, isTls: boolean): Deliverer {
  return {
    template,
    isTls,
    start: (databaseUrl, sink) => startDelivering(bench, databaseUrl, sink),
    countLeft: countOutbox,
    async check(sql) {
      const [row] = await sql<{ attempts: number; delivered: number; dead: number; tally: number }[]>`
        select
          (select count(*)::int from attempt) as attempts,
          (select count(distinct event_id)::int from attempt where outcome = 'delivered') as delivered,
          (select count(*)::int from dead_letter) as dead,
          (select coalesce(sum(delta), 0)::int from outbox_tally) as tally`;
      if (row?.attempts !== ids.size || row.delivered !== ids.size || row.dead !== 0 || row.tally !== 0) {
        throw new Error(`The history of ${ids.size} deliveries is not right: ${JSON.stringify(row)}`);
      }
    },
  };
}

/** Rows in our outbox. */
export async function countOutbox(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ n: number }[]>`select count(*)::int as n from outbox`;
  return row?.n ?? 0;
}

/** How graphile-worker is run. */
export interface GraphileSettings {
  readonly client: "http" | "undici";
  /** `concurrentJobs`. */
  readonly concurrency: number;
  /** `localQueue.size`. */
  readonly queueSize: number;
  /** `completeJobBatchDelay`. */
  readonly completeDelayMs: number;
}

/** graphile-worker. */
export function graphile(template: string, settings: GraphileSettings): Deliverer {
  const { client, concurrency, queueSize, completeDelayMs } = settings;
  return {
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
      }, ["work"]),
    async countLeft(sql) {
      const [row] = await sql<{ n: number }[]>`select count(*)::int as n from graphile_worker.jobs`;
      return row?.n ?? 0;
    },
  };
}

/** How pg-boss is run. */
export interface BossSettings {
  readonly client: "http" | "undici";
  readonly batchSize: number;
  /** `localConcurrency`. */
  readonly workers: number;
  /** To the sink. */
  readonly connections: number;
}

/** pg-boss. */
export function boss(template: string, { client, batchSize, workers, connections }: BossSettings): Deliverer {
  return {
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
      }, ["work"]),
    async countLeft(sql) {
      // It keeps what is completed, and its maintenance removes it later.
      const [row] = await sql<{ n: number }[]>`
        select count(*)::int as n from pgboss.job where name = 'deliver' and state <> 'completed'`;
      return row?.n ?? 0;
    },
  };
}
