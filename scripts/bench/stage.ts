/**
 * The contenders' PostgreSQL: one server and one set of settings; every database is a copy of a migrated and seeded
 * template.
 */

import { createHash, getRandomValues } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { makeKey } from "../../src/contract/api_key.ts";
import { type EmbeddedPostgres, startPostgres } from "../embedded_postgres.ts";
import { node, run, type Tree } from "./programs.ts";

/** `max_wal_size` and `checkpoint_timeout` are high, so that no round has a checkpoint. */
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

/** The template's API keys, each with its own campaign, so that no spend row is contended. */
export const keyCount = 16;

/** A copy of the template. */
export interface Database {
  readonly name: string;
  readonly url: string;
  readonly sql: postgres.Sql;
  /** Waits until no other client is connected, so that statistics are complete. */
  quiet(): Promise<void>;
  /** Closes our own connection, so that the database can be a template. */
  disconnect(): Promise<void>;
  drop(): Promise<void>;
}

/** The server's totals since its start: WAL syncs and WAL bytes. */
export interface Counters {
  readonly syncs: number;
  readonly bytes: number;
}

/** Adds a tenant with a route, and a campaign and an intake key per given key. */
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

/** New intake keys. */
export const makeKeys = (count: number) =>
  Array.from(
    { length: count },
    () => makeKey({ surface: "intake", sandbox: false }, (bytes) => getRandomValues(bytes)),
  );

/** The running server. */
export class Stage {
  /** API keys that are valid in every database. */
  readonly keys = makeKeys(keyCount);
  readonly #server: EmbeddedPostgres;
  readonly #admin: postgres.Sql;
  readonly #templates = new Map<Tree, string>();
  #databases = 0;

  constructor(server: EmbeddedPostgres) {
    this.#server = server;
    this.#admin = connect(server.url);
  }

  /** Starts the server. */
  static async open(): Promise<Stage> {
    return new Stage(await startPostgres({ settings }));
  }

  /** The server's data folder. */
  get dataFolder(): string {
    return this.#server.dataFolder;
  }

  /** The postmaster's process id. */
  get pid(): number {
    return this.#server.pid;
  }

  /** The server's version and settings. */
  async describe(): Promise<string> {
    const rows = await this.#admin<{ name: string; value: string }[]>`
      select name, current_setting(name) as value
      from unnest(${["server_version", ...Object.keys(settings), "wal_sync_method"]}::text[]) as n (name)`;
    return `PostgreSQL: ${rows.map(({ name, value }) => `${name} ${value}`).join(", ")}`;
  }

  /** A new database for a tree's service. */
  async createDatabase(tree: Tree): Promise<Database> {
    let template = this.#templates.get(tree);
    if (template === undefined) {
      template = `template_${this.#templates.size}`;
      await this.#admin`create database ${this.#admin(template)}`;
      const url = this.#server.databaseUrl(template);
      const migrate = [join(tree.folder, "scripts/migrate.ts")];
      await run(node, migrate, { env: { DATABASE_URL: url }, timeoutMs: 60_000 });
      const sql = connect(url);
      await addKeys(sql, this.keys).finally(() => sql.end({ timeout: 5 }));
      this.#templates.set(tree, template);
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
      quiet: async () => {
        for (let attempt = 0; attempt < 500; attempt += 1) {
          const [row] = await this.#admin<{ n: number }[]>`
            select count(*)::int as n from pg_stat_activity
            where datname = ${name} and backend_type = 'client backend' and application_name <> ${ownName}`;
          if (row?.n === 0) return;
          await delay(20);
        }
        throw new Error(`A client stays connected to ${name}`);
      },
      disconnect: () => sql.end({ timeout: 5 }),
      drop: async () => {
        await sql.end({ timeout: 5 });
        await this.#admin.unsafe(`drop database ${name} with (force)`);
      },
    };
  }

  /** Provides an unused database for a tree's service, or a copy of the named one, after a checkpoint. */
  async lend<T>(from: Tree | string, work: (database: Database) => Promise<T>): Promise<T> {
    const database = await (typeof from === "string" ? this.#copy(from) : this.createDatabase(from));
    await this.checkpoint();
    try {
      return await work(database);
    } finally {
      await database.drop();
    }
  }

  /** The totals; a connection's statistics count once it is closed. */
  async counters(): Promise<Counters> {
    const [row] = await this.#admin<[Counters]>`
      select
        (select sum(fsyncs)::float8 from pg_stat_io where object = 'wal' and context = 'normal') as syncs,
        (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8 as bytes`;
    return row;
  }

  /** Runs a checkpoint, so that no contender pays for the previous one. */
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
