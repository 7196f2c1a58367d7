/**
 * The PostgreSQL that everybody runs on: one server with one set of settings, and databases that all start
 * as copies of one migrated and seeded template.
 *
 * @module
 */

import { createHash, getRandomValues } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { makeKey } from "../../src/contract/api_key.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import { type EmbeddedPostgres, startPostgres } from "../embedded_postgres.ts";
import { childrenOf } from "../processes.ts";
import { cpuSeconds, endedCpuSeconds } from "./usage.ts";

/**
 * What differs from PostgreSQL's defaults, or matters so much that it is said; the same for everybody.
 * `max_wal_size` and `checkpoint_timeout`: so that no checkpoint falls into one round and not into another.
 */
export const settings = {
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  shared_buffers: "1GB",
  max_wal_size: "16GB",
  min_wal_size: "4GB",
  checkpoint_timeout: "30min",
  max_connections: 200,
} as const;

/** Tenants, each with two keys. */
export const tenantCount = 8;
/**
 * API keys, each bound to a campaign of its own: enough that a row of spend is not what all wait for. Their ids
 * are 1 to this, the tenant of key k is (k - 1) mod {@linkcode tenantCount} + 1.
 */
export const keyCount = 16;

/** A copy of the template. */
export interface Database {
  readonly name: string;
  readonly url: string;
  readonly sql: postgres.Sql;
  /** The newest event id, `""` when there is none. */
  newest(): Promise<string>;
  /** Events stored after `eventId`. */
  countAfter(eventId: string): Promise<number>;
  /** Waits until nobody but us is connected: then the others' statistics are in. */
  quiet(): Promise<void>;
  /** Ends our own connection; it can then be a template. */
  disconnect(): Promise<void>;
  drop(): Promise<void>;
}

/** Totals of the server since it started. */
export interface Counters {
  /** Flushes of the WAL to the disk (`pg_stat_io`, object `wal`, context `normal`). */
  readonly walSyncs: number;
  readonly walBytes: number;
}

/** Starts the server and prepares the template. */
export async function openStage(): Promise<Stage> {
  const server = await startPostgres({ settings });
  try {
    const admin = connect(server.url);
    await admin`create database template_bench`;
    const url = server.databaseUrl("template_bench");
    await migrate(url);
    const keys = await seed(url);
    return new Stage(server, admin, keys);
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** The running server. */
export class Stage {
  readonly #server: EmbeddedPostgres;
  readonly #admin: postgres.Sql;
  #databases = 0;
  /** API keys that work in every database. */
  readonly keys: readonly string[];

  constructor(server: EmbeddedPostgres, admin: postgres.Sql, keys: readonly string[]) {
    this.#server = server;
    this.#admin = admin;
    this.keys = keys;
  }

  /** The server's version and the settings that it says it has. */
  async describe(): Promise<Record<string, string>> {
    const further = ["server_version", "wal_sync_method", "wal_compression", "autovacuum", "data_checksums"];
    const rows = await this.#admin<{ name: string; value: string }[]>`
      select name, current_setting(name) as value
      from unnest(${[...Object.keys(settings), ...further]}::text[]) as n (name)`;
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  }

  /** A new database that is equal to the template, to which nobody may be connected. */
  async createDatabase(template = "template_bench"): Promise<Database> {
    this.#databases += 1;
    const name = `bench_${this.#databases}`;
    // Copied through the WAL, which takes no checkpoint.
    await this.#admin.unsafe(`create database ${name} template ${template} strategy wal_log`);
    const url = this.#server.databaseUrl(name);
    const sql = connect(url);
    return {
      name,
      url,
      sql,
      async newest() {
        const [row] = await sql<{ id: string | null }[]>`select max(event_id) as id from event`;
        return row?.id ?? "";
      },
      async countAfter(eventId) {
        const [row] = await sql<{ n: string }[]>`select count(*) as n from event where event_id > ${eventId}`;
        return Number(row?.n);
      },
      quiet: () => this.#quiet(name),
      disconnect: () => sql.end({ timeout: 5 }),
      drop: async () => {
        await sql.end({ timeout: 5 });
        await this.#admin.unsafe(`drop database ${name} with (force)`);
      },
    };
  }

  async #quiet(database: string): Promise<void> {
    for (let attempt = 0; attempt < 500; attempt += 1) {
      const [row] = await this.#admin<{ n: number }[]>`
        select count(*)::int as n from pg_stat_activity
        where datname = ${database} and backend_type = 'client backend' and application_name <> ${ownName}`;
      if (row?.n === 0) return;
      await delay(20);
    }
    throw new Error(`Somebody stays connected to ${database}`);
  }

  /** The processes of the server that run now. */
  pids(): number[] {
    return [this.#server.pid, ...childrenOf(this.#server.pid).map(({ pid }) => pid)];
  }

  /** Lets the server count calls of PL/pgSQL functions in a database, for connections that come later. */
  async trackFunctions(databaseUrl: string): Promise<void> {
    await this.#admin.unsafe(
      `alter database ${new URL(databaseUrl).pathname.slice(1)} set track_functions = 'pl'`,
    );
  }

  /** Seconds of processor time of all its processes since its start, those included that have ended. */
  cpuSeconds(): number {
    return cpuSeconds(this.pids()) + endedCpuSeconds(this.#server.pid);
  }

  /** The server's totals. Those of a connection are in once it is closed. */
  async counters(): Promise<Counters> {
    const [row] = await this.#admin<{ syncs: string; bytes: string }[]>`
      select
        (select sum(fsyncs) from pg_stat_io where object = 'wal' and context = 'normal') as syncs,
        pg_current_wal_lsn() - '0/0'::pg_lsn as bytes`;
    return { walSyncs: Number(row?.syncs), walBytes: Number(row?.bytes) };
  }

  /** Transactions that a database has committed. */
  async commits(database: Database): Promise<number> {
    const name = new URL(database.url).pathname.slice(1);
    const [row] = await this.#admin<{ n: string }[]>`
      select xact_commit as n from pg_stat_database where datname = ${name}`;
    return Number(row?.n);
  }

  /** Writes everything to its place, so that who comes next does not pay for who was before. */
  async checkpoint(): Promise<void> {
    await this.#admin`checkpoint`;
  }

  /** Ends the server and removes its data. */
  async close(): Promise<void> {
    await this.#admin.end({ timeout: 1 }).catch(() => {});
    await this.#server.stop();
  }
}

const ownName = "bench";

function connect(url: string): postgres.Sql {
  return postgres(url, { max: 1, onnotice: () => {}, connection: { application_name: ownName } });
}

async function seed(url: string): Promise<string[]> {
  const sql = connect(url);
  const keys = Array.from(
    { length: keyCount },
    () => makeKey({ surface: "intake", sandbox: false }, (bytes) => getRandomValues(bytes)),
  );
  try {
    for (let tenant = 1; tenant <= tenantCount; tenant += 1) {
      await sql`insert into tenant (slug, name) values (${`tenant-${tenant}`}, ${`Tenant ${tenant}`})`;
      // Without a route nothing is delivered.
      await sql`
        insert into actions.route (tenant_id, kind, address)
        select id, 'email', slug || '@example.com' from tenant where slug = ${`tenant-${tenant}`}`;
    }
    for (const [index, key] of keys.entries()) {
      const digest = createHash("sha256").update(key).digest("hex");
      await sql`
        with c as (
          insert into campaign (tenant_id, slug) values (${index % tenantCount + 1}, ${`campaign-${
        index + 1
      }`})
          returning id, tenant_id
        )
        insert into api_key (tenant_id, campaign_id, surface, label, digest, last4)
        select tenant_id, id, 'intake', ${`provider-${index + 1}`}, decode(${digest}, 'hex'), ${key.slice(-4)}
        from c`;
    }
    await sql`vacuum analyze`;
  } finally {
    await sql.end({ timeout: 5 });
  }
  return keys;
}
