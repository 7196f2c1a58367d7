/**
 * The PostgreSQL that everybody runs on: one server with one set of settings, and databases that all start as copies
 * of one migrated and seeded template.
 *
 * @module
 */

import { createHash, getRandomValues } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { makeKey } from "../../src/contract/api_key.ts";
import { type EmbeddedPostgres, startPostgres } from "../embedded_postgres.ts";
import { node, run } from "./programs.ts";
import type { Tree } from "./tree.ts";

/**
 * What differs from PostgreSQL's defaults, or matters so much that it is said; the same for everybody.
 * `max_wal_size` and `checkpoint_timeout`: so that no checkpoint falls into one round and not into another.
 */
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
  /** Waits until nobody but us is connected: then the others' statistics are in. */
  quiet(): Promise<void>;
  /** Ends our own connection; it can then be a template. */
  disconnect(): Promise<void>;
  drop(): Promise<void>;
}

/** Totals of the server since it started, those of the database `commits`. */
export interface Counters {
  /** Flushes of the WAL to the disk (`pg_stat_io`, object `wal`, context `normal`). */
  readonly syncs: number;
  readonly bytes: number;
  readonly commits: number;
}

/** An API key that works in every database. */
export function makeApiKey(surface: "intake" | "forms"): { key: string; digest: string } {
  const key = makeKey({ surface, sandbox: false }, (bytes) => getRandomValues(bytes));
  return { key, digest: createHash("sha256").update(key).digest("hex") };
}

/** Starts the server. */
export async function openStage(): Promise<Stage> {
  return new Stage(await startPostgres({ settings }));
}

/** The running server. */
export class Stage {
  readonly #server: EmbeddedPostgres;
  readonly #admin: postgres.Sql;
  readonly #templates = new Map<Tree, string>();
  readonly #keys = Array.from({ length: keyCount }, () => makeApiKey("intake"));
  #databases = 0;

  constructor(server: EmbeddedPostgres) {
    this.#server = server;
    this.#admin = connect(server.url);
  }

  /** API keys that work in every database. */
  get keys(): string[] {
    return this.#keys.map(({ key }) => key);
  }

  /** The postmaster's process id. */
  get pid(): number {
    return this.#server.pid;
  }

  /** The server's version, and its settings as it says it has them. */
  async describe(): Promise<{ version: string; settings: string }> {
    const names = [
      ...Object.keys(settings),
      "wal_sync_method",
      "wal_compression",
      "autovacuum",
      "data_checksums",
    ];
    const rows = await this.#admin<{ name: string; value: string }[]>`
      select name, current_setting(name) as value from unnest(${[
      "server_version",
      ...names,
    ]}::text[]) as n (name)`;
    const [version, ...others] = rows;
    return {
      version: `PostgreSQL ${version?.value}`,
      settings: `PostgreSQL: ${others.map(({ name, value }) => `${name} ${value}`).join(", ")}`,
    };
  }

  /** A new database for the service of a tree. */
  async createDatabase(tree: Tree): Promise<Database> {
    let template = this.#templates.get(tree);
    if (template === undefined) {
      template = `template_${this.#templates.size}`;
      await this.#admin`create database ${this.#admin(template)}`;
      const url = this.#server.databaseUrl(template);
      await run(node, [join(tree.folder, "scripts/migrate.ts")], {
        env: { DATABASE_URL: url },
        timeoutMs: 60_000,
      });
      await seed(url, this.#keys.map(({ digest }) => digest));
      this.#templates.set(tree, template);
    }
    return await this.copy(template);
  }

  /** A new database that is equal to another one, to which nobody may be connected. */
  async copy(template: string): Promise<Database> {
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
      quiet: async () => {
        for (let attempt = 0; attempt < 500; attempt += 1) {
          const [row] = await this.#admin<{ n: number }[]>`
            select count(*)::int as n from pg_stat_activity
            where datname = ${name} and backend_type = 'client backend' and application_name <> ${ownName}`;
          if (row?.n === 0) return;
          await delay(20);
        }
        throw new Error(`Somebody stays connected to ${name}`);
      },
      disconnect: () => sql.end({ timeout: 5 }),
      drop: async () => {
        await sql.end({ timeout: 5 });
        await this.#admin.unsafe(`drop database ${name} with (force)`);
      },
    };
  }

  /** Lends a database that a tree's service has not used, or a copy of another one, after a checkpoint. */
  async lend<T>(from: Tree | string, work: (database: Database) => Promise<T>): Promise<T> {
    const database = await (typeof from === "string" ? this.copy(from) : this.createDatabase(from));
    await this.checkpoint();
    try {
      return await work(database);
    } finally {
      await database.drop();
    }
  }

  /** The totals. Those of a connection are in once it is closed. */
  async counters(database: Database): Promise<Counters> {
    const [row] = await this.#admin<{ syncs: string; bytes: string; commits: string }[]>`
      select
        (select sum(fsyncs) from pg_stat_io where object = 'wal' and context = 'normal') as syncs,
        pg_current_wal_lsn() - '0/0'::pg_lsn as bytes,
        (select xact_commit from pg_stat_database where datname = ${database.name}) as commits`;
    return { syncs: Number(row?.syncs), bytes: Number(row?.bytes), commits: Number(row?.commits) };
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

async function seed(url: string, digests: readonly string[]): Promise<void> {
  const sql = connect(url);
  try {
    // Nothing is delivered for a tenant without a route.
    await sql`
      insert into tenant (slug, name, has_route)
      select 'tenant-' || n, 'Tenant ' || n, true from generate_series(1, ${tenantCount}::int) as n order by n`;
    await sql`
      insert into campaign (tenant_id, slug)
      select (n - 1) % ${tenantCount}::int + 1, 'campaign-' || n from generate_series(1, ${keyCount}::int) as n order by n`;
    await sql`
      insert into api_key (tenant_id, campaign_id, surface, label, digest, last4)
      select c.tenant_id, c.id, 'intake', 'provider-' || n, decode(digest, 'hex'), '0000'
      from unnest(${digests}::text[]) with ordinality as d (digest, n)
      join campaign as c on c.slug = 'campaign-' || n order by n`;
    await sql`vacuum analyze`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}
