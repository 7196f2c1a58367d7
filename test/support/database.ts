/**
 * Databases for tests, each a copy of a template that is migrated once.
 *
 * `npm test` starts one PostgreSQL and passes its address on. A test file run on its own (`node --test
 * test/store/pool.test.ts`) starts one that ends with it.
 */

import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { type EmbeddedPostgres, startPostgres } from "../../scripts/embedded_postgres.ts";
import { childrenOf, signalProcess } from "../../scripts/processes.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import { atEnd } from "./at_end.ts";

/** The environment variable with which `npm test` passes the server's address on. */
export const serverVariable = "TEST_POSTGRES_URL";

/** A migrated, otherwise empty database; it is dropped after the tests of the file. */
export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  /** Drops the database and closes its connections. */
  drop(): Promise<void>;
}

let started: Promise<EmbeddedPostgres> | undefined;

async function serverUrl(): Promise<string> {
  const given = process.env[serverVariable];
  if (given !== undefined) return given;
  started ??= startPostgres();
  const server = await started;
  server.unref();
  return server.url;
}

// Every test server has this role.
const serviceLogin = "test_service";

/** Returns a database's address as the service uses it in production: a login role in `lead_service`. */
export function asService(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.username = url.password = serviceLogin;
  return url.href;
}

/** The kind of database that a test needs. */
export interface DatabaseOptions {
  /** With the current schema; default: `true`. */
  readonly migrated?: boolean;
}

/** Creates a database on the server that all test files share. */
export async function createDatabase({ migrated = true }: DatabaseOptions = {}): Promise<TestDatabase> {
  const database = await createDatabaseOn(await serverUrl(), migrated);
  atEnd(() => database.drop());
  return database;
}

/** A separate PostgreSQL that a test can kill, stop and restart; it ends with the tests of the file. */
export interface OwnPostgres {
  readonly server: EmbeddedPostgres;
  /** The address of a migrated database on it. */
  readonly url: string;
  /** Suspends every process of the server (SIGSTOP), as a hung machine would. */
  freeze(): void;
  /** Resumes them. */
  thaw(): void;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** Starts a server with these settings, such as `{ max_connections: 10 }`. */
export async function ownPostgres(
  settings: Readonly<Record<string, string | number>> = {},
): Promise<OwnPostgres> {
  const server = await startPostgres({ settings });
  atEnd(() => server.stop());
  const { url } = await createDatabaseOn(server.url);
  const signalAll = (signal: NodeJS.Signals) => {
    // The postmaster first, so that it starts no further process; each process has its own session.
    const pid = server.pid;
    signalProcess(pid, signal);
    for (const child of childrenOf(pid)) signalProcess(child.pid, signal);
  };
  // A suspended backend blocks the shutdown.
  atEnd(() => signalAll("SIGCONT"));
  return {
    server,
    url,
    freeze: () => signalAll("SIGSTOP"),
    thaw: () => signalAll("SIGCONT"),
    stop: async () => {
      signalAll("SIGCONT");
      await server.stop();
    },
  };
}

/** Runs statements on a new connection. */
export async function withSql<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Creates a database on a server, given its superuser's address; it is removed with the server. */
export async function createDatabaseOn(server: string, migrated = true): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString("hex")}`;
  await withSql(server, async (sql) => {
    const template = migrated ? await ensureTemplate(sql, server) : "template0";
    await sql`create database ${sql(name)} template ${sql(template)}`;
  });
  return {
    name,
    url: databaseUrl(server, name),
    drop: () =>
      withSql(server, async (sql) => {
        await sql`drop database if exists ${sql(name)} with (force)`;
      }),
  };
}

// Named by the digest of its sources, once it is complete.
async function ensureTemplate(sql: postgres.Sql, server: string): Promise<string> {
  const template = `template_${schemaDigest()}`;
  // Any number works; concurrent test files wait for the first one here.
  await sql`select pg_advisory_lock(20260825)`;
  const [found] = await sql`select 1 from pg_database where datname = ${template}`;
  if (found === undefined) {
    await sql`drop database if exists template_unfinished with (force)`;
    await sql`create database template_unfinished`;
    await migrate(databaseUrl(server, "template_unfinished"));
    await sql`alter database template_unfinished rename to ${sql(template)}`;
    const [login] = await sql`select 1 from pg_roles where rolname = ${serviceLogin}`;
    if (login === undefined) {
      await sql.unsafe(`create role ${serviceLogin} login password '${serviceLogin}' in role lead_service`);
    }
  }
  await sql`select pg_advisory_unlock(20260825)`;
  return template;
}

function schemaDigest(): string {
  const folder = fileURLToPath(new URL("../../sql/", import.meta.url));
  const hash = createHash("sha256");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const name of names.filter((name) => name.endsWith(".sql")).sort()) {
    hash.update(name).update(readFileSync(folder + name));
  }
  return hash.digest("hex").slice(0, 16);
}
