/**
 * Who delivers: our service as it runs in production, and the peers with the settings that they are given.
 *
 * @module
 */

import type postgres from "postgres";
import type { Program } from "../programs.ts";
import { startPeer, startService } from "../service.ts";
import type { Bench } from "../suite.ts";
import type { Sink } from "./sink.ts";

/** The events of a backlog. */
export interface Leads {
  /** The database in whose outbox they wait. */
  readonly template: string;
  readonly ids: ReadonlySet<string>;
  /** `event_id body` a line, as we send them. */
  readonly file: string;
}

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

/** Rows that are not done in the queues of the peers; pg-boss keeps what is completed, and removes it later. */
const countQueued = {
  graphile_worker: (sql: postgres.Sql) => sql`select count(*)::int as n from graphile_worker.jobs`,
  pg_boss: (sql: postgres.Sql) =>
    sql`select count(*)::int as n from pgboss.job where name = 'deliver' and state <> 'completed'`,
} as const;

/** Peers that deliver from a queue in PostgreSQL. */
export type QueuePeer = keyof typeof countQueued;

/** One of them, with these settings. */
export function queue(
  peer: QueuePeer,
  template: string,
  settings: Readonly<Record<string, string | number>>,
): Deliverer {
  return {
    template,
    isTls: false,
    start: (databaseUrl, { url }) =>
      startPeer(peer, { ...settings, DATABASE_URL: databaseUrl, ACTIONS_URL: url }, { args: ["work"] }),
    countLeft: async (sql) => Number((await countQueued[peer](sql))[0]?.n),
  };
}
