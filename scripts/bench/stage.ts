/**
 * Runs the contenders' PostgreSQL: one server with one set of settings. Every database is a copy of a migrated and
 * seeded template.
 */

import { createHash, getRandomValues } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { generateKey } from "../../src/contract/api_key.ts";
import { type EmbeddedPostgres, startPostgres } from "../embedded_postgres.ts";
import { type Checkout, node, run } from "./programs.ts";

// With high `max_wal_size` and `checkpoint_timeout`, no round contains a checkpoint.
const settings = {
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  shared_buffers: "1GB",
  max_wal_size: "16GB",
  min_wal_size: "4GB",
  checkpoint_timeout: "30min",
  max_connections: 200,
} as const;

/** The number of API keys in the template. Each has its own campaign, so that no spend row is contended. */
export const keyCount = 16;

/** A copy of the template. */
export interface Database {
  readonly name: string;
  readonly url: string;
  readonly sql: postgres.Sql;
  /** Waits until no other client is connected, so that statistics are complete. */
  waitForClients(): Promise<void>;
  /** Closes our own connection, so that the database can be copied. */
  disconnect(): Promise<void>;
  drop(): Promise<void>;
}

/** The server's totals since its start: WAL syncs and WAL bytes. */
export interface Counters {
  readonly syncs: number;
  readonly bytes: number;
}

/** Adds, for each given key, a tenant with a route, a campaign and the intake key. */
export async function addKeys(sql: postgres.Sql, keys: readonly string[]): Promise<void> {
  const digests = keys.map((key) => createHash("sha256").update(key).digest("hex"));
  await sql`
    with given as (
      select digest, 'tenant-' || substr(digest, 1, 20) as slug from unnest(${digests}::text[]) as d (digest)
    ), t as (
      insert into tenant (slug, name, has_route) select slug, slug, true from given returning id, slug
    ), c as (
      insert into campaign (tenant_id, slug) select id, slug from t returning id, tenant_id, slug
    )
    insert into api_key (tenant_id, campaign_id, surface, label, digest, last4)
    select c.tenant_id, c.id, 'intake', slug, decode(digest, 'hex'), '0000' from given join c using (slug)`;
  await sql`vacuum analyze`;
}

export const makeKeys = (count: number) =>
  Array.from(
    { length: count },
    () => generateKey({ surface: "intake", sandbox: false }, (bytes) => getRandomValues(bytes)),
  );

export class BenchServer {
  /** The API keys that are valid in every database. */
  readonly keys = makeKeys(keyCount);
  readonly #server: EmbeddedPostgres;
  readonly #admin: postgres.Sql;
  readonly #templates = new Map<Checkout, string>();
  #databases = 0;

  constructor(server: EmbeddedPostgres) {
    this.#server = server;
    this.#admin = connect(server.url);
  }

  static async open(): Promise<BenchServer> {
    return new BenchServer(await startPostgres({ settings }));
  }

  get dataFolder(): string {
    return this.#server.dataFolder;
  }

  /** The postmaster's process id. */
  get pid(): number {
    return this.#server.pid;
  }

  /** Returns the server's version and settings as text. */
  async describe(): Promise<string> {
    const rows = await this.#admin<{ name: string; value: string }[]>`
      select name, current_setting(name) as value
      from unnest(${["server_version", ...Object.keys(settings), "wal_sync_method"]}::text[]) as n (name)`;
    return `PostgreSQL: ${rows.map(({ name, value }) => `${name} ${value}`).join(", ")}`;
  }

  /** Creates a database with the schema of a checkout. */
  async createDatabase(checkout: Checkout): Promise<Database> {
    let template = this.#templates.get(checkout);
    if (template === undefined) {
      template = `template_${this.#templates.size}`;
      await this.#admin`create database ${this.#admin(template)}`;
      const url = this.#server.databaseUrl(template);
      const migrate = [join(checkout.folder, "scripts/migrate.ts")];
      await run(node, migrate, { env: { DATABASE_URL: url }, timeoutMs: 60_000 });
      const sql = connect(url);
      await addKeys(sql, this.keys).finally(() => sql.end({ timeout: 5 }));
      this.#templates.set(checkout, template);
    }
    return await this.#copy(template);
  }

  async #copy(template: string): Promise<Database> {
    this.#databases += 1;
    const name = `bench_${this.#databases}`;
    // `strategy wal_log` copies without a checkpoint.
    await this.#admin.unsafe(`create database ${name} template ${template} strategy wal_log`);
    const url = this.#server.databaseUrl(name);
    const sql = connect(url);
    return {
      name,
      url,
      sql,
      waitForClients: async () => {
        for (let attempt = 0; attempt < 500; attempt += 1) {
          const [row] = await this.#admin<{ n: number }[]>`
            select count(*)::int as n from pg_stat_activity
            where datname = ${name} and backend_type = 'client backend' and application_name <> ${ownName}`;
          if (row?.n === 0) return;
          await delay(20);
        }
        throw new Error(`A client is still connected to ${name}`);
      },
      disconnect: () => sql.end({ timeout: 5 }),
      drop: async () => {
        await sql.end({ timeout: 5 });
        await this.#admin.unsafe(`drop database ${name} with (force)`);
      },
    };
  }

  /** Calls `work` with a new database for a checkout or a copy of the named one, after a checkpoint; then drops it. */
  async withDatabase<T>(from: Checkout | string, work: (database: Database) => Promise<T>): Promise<T> {
    const database = await (typeof from === "string" ? this.#copy(from) : this.createDatabase(from));
    await this.checkpoint();
    try {
      return await work(database);
    } finally {
      await database.drop();
    }
  }

  /** Reads the totals, which may lack the latest syncs of open connections. */
  async counters(): Promise<Counters> {
    const [row] = await this.#admin<[Counters]>`
      select
        (select sum(fsyncs)::float8 from pg_stat_io where object = 'wal' and context = 'normal') as syncs,
        (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8 as bytes`;
    return row;
  }

  /** Runs a checkpoint, so that no contender pays for the writes of the previous one. */
  async checkpoint(): Promise<void> {
    await this.#admin`checkpoint`;
  }

  /** Stops the server and removes its data. */
  async close(): Promise<void> {
    await this.#admin.end({ timeout: 1 }).catch(() => {});
    await this.#server.stop();
  }
}

const ownName = "bench";

function connect(url: string): postgres.Sql {
  return postgres(url, { max: 1, onnotice: () => {}, connection: { application_name: ownName } });
}
