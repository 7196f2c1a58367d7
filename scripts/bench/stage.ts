/**
 * The PostgreSQL that everybody runs on: one server with one set of settings, and databases that all start as copies
 * of one migrated and seeded template.
 *
 * @module
 */

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { type EmbeddedPostgres, startPostgres } from "../embedded_postgres.ts";
import { keyCount, makeApiKey, seed } from "./load/keys.ts";
import { node, run, type Tree } from "./programs.ts";

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
  /** Full page images in the WAL. */
  readonly pages: number;
  readonly commits: number;
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

  /** Where the server keeps its data. */
  get dataFolder(): string {
    return this.#server.dataFolder;
  }

  /** The postmaster's process id. */
  get pid(): number {
    return this.#server.pid;
  }

  /** The server's version and settings, as it reports them. */
  async describe(): Promise<string> {
    const rows = await this.#admin<{ name: string; value: string }[]>`
      select name, current_setting(name) as value
      from unnest(${["server_version", ...Object.keys(settings), "wal_sync_method"]}::text[]) as n (name)`;
    return `PostgreSQL: ${rows.map(({ name, value }) => `${name} ${value}`).join(", ")}`;
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
      const sql = connect(url);
      await seed(sql, this.#keys.map(({ digest }) => digest)).finally(() => sql.end({ timeout: 5 }));
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
    const [row] = await this.#admin<{ syncs: string; bytes: string; pages: string; commits: string }[]>`
      select
        (select sum(fsyncs) from pg_stat_io where object = 'wal' and context = 'normal') as syncs,
        pg_current_wal_lsn() - '0/0'::pg_lsn as bytes,
        (select wal_fpi from pg_stat_wal) as pages,
        (select xact_commit from pg_stat_database where datname = ${database.name}) as commits`;
    return {
      syncs: Number(row?.syncs),
      bytes: Number(row?.bytes),
      pages: Number(row?.pages),
      commits: Number(row?.commits),
    };
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
