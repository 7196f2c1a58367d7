/**
 * Databases for tests: each a copy of a template that was migrated once.
 *
 * `npm test` starts one PostgreSQL and passes its address on. A test file run by hand
 * (`node --test test/store/pool.test.ts`) starts one of its own, which ends with it.
 */

import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { type EmbeddedPostgres, startPostgres } from "../../scripts/embedded_postgres.ts";
import { childrenOf, signalProcess } from "../../scripts/processes.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import { atEnd } from "./at_end.ts";

/** The environment variable in which `npm test` passes the server's address on. */
export const serverVariable = "TEST_POSTGRES_URL";

/** A migrated, otherwise empty database; it goes with the tests of the file. */
export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  /** Removes it, cutting whatever is still connected. */
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

// Every server of tests has it, for that server only.
const serviceLogin = "test_service";

/** A database's address as the service process knows it in production: a login role in `lead_service`, no owner. */
export function asService(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.username = url.password = serviceLogin;
  return url.href;
}

/** What kind of database a test needs. */
export interface DatabaseOptions {
  /** With the current schema; `true` when left out. */
  readonly migrated?: boolean;
}

/** Creates a database on the server that all test files share. */
export async function createDatabase({ migrated = true }: DatabaseOptions = {}): Promise<TestDatabase> {
  const database = await copyTemplate(await serverUrl(), migrated);
  atEnd(() => database.drop());
  return database;
}

/** A PostgreSQL of a test's own, to be killed, stopped and restarted; it ends with the tests of the file. */
export interface OwnPostgres {
  readonly server: EmbeddedPostgres;
  /** A migrated database on it. */
  readonly url: string;
  /** Stops every process of the server where it stands (SIGSTOP), as a hung machine would. */
  freeze(): void;
  /** Lets them go on. */
  thaw(): void;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

/** Starts a server with the given settings, such as `{ max_connections: 10 }`. */
export async function ownPostgres(
  settings: Readonly<Record<string, string | number>> = {},
): Promise<OwnPostgres> {
  const server = await startPostgres({ settings });
  atEnd(() => server.stop());
  const { url } = await copyTemplate(server.url);
  const signalAll = (signal: NodeJS.Signals) => {
    // The postmaster first, so that it starts no further process; each one is in a session of its own.
    const pid = server.pid;
    signalProcess(pid, signal);
    for (const child of childrenOf(pid)) signalProcess(child.pid, signal);
  };
  // A frozen backend lets nothing end.
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

/** Makes a migrated database on a server of a test's own, whose superuser's address this is; it goes with the server. */
export async function createDatabaseOn(server: string): Promise<TestDatabase> {
  return await copyTemplate(server);
}

async function administer<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function copyTemplate(server: string, migrated = true): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString("hex")}`;
  await administer(server, async (sql) => {
    const template = migrated ? await ensureTemplate(sql, server) : "template0";
    await sql`create database ${sql(name)} template ${sql(template)}`;
  });
  return {
    name,
    url: databaseUrl(server, name),
    drop: () =>
      administer(server, async (sql) => {
        await sql`drop database if exists ${sql(name)} with (force)`;
      }),
  };
}

// Named by what it is made from, and given that name when it is finished.
async function ensureTemplate(sql: postgres.Sql, server: string): Promise<string> {
  const template = `template_${schemaDigest()}`;
  // Any number will do; test files that start at once wait for the first one here.
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
