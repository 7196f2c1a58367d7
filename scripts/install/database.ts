/**
 * Creates the service's roles and database for `scripts/install.sh`, or completes existing ones. If the server rejects a
 * role's password from its URL, the role's password is set to it.
 *
 * Reads JSON from standard input, so that no password is on a command line or in the environment, and prints what it
 * creates, grants and sets. Passwords are sent as SCRAM verifiers, because the server could log statements.
 */

import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import process from "node:process";
import { text } from "node:stream/consumers";
import postgres from "postgres";
import { DatabaseUrlError, parseDatabaseUrl } from "#src/store/address.ts";
import { connectTo } from "#src/store/connect.ts";
import { Primary } from "#src/store/primary.ts";
import { builtinsFile, connectionLimits } from "#src/store/schema/rights.ts";
import { NoPrimary } from "#src/store/unavailable.ts";

/** The JSON on standard input. */
interface Input {
  /** Whether to only check that the server and the roles' names can be used. */
  readonly check?: boolean;
  /** The URL of a role that may create roles and databases, or the local server's socket. */
  readonly admin: { readonly url: string } | { readonly socketFolder: string; readonly port: number };
  /** The URLs for the owner, the service and the actions process: one database, three logins. */
  readonly logins: Readonly<Record<Login, string>>;
  /**
   * The logins with a newly generated password. These roles must not exist yet, because changing their passwords would
   * lock out whoever uses them.
   */
  readonly newLogins: readonly Login[];
}

type Login = "owner" | "service" | "actions";

/** A problem that the operator must fix, in one sentence. */
class Refused extends Error {
  override readonly name = "Refused";
}

const versionMin = 140_000;
const connectionOptions = {
  max: 1,
  onnotice: () => {},
  connect_timeout: 10,
  connection: { application_name: "lead-intake install" },
} as const;

async function main(): Promise<void> {
  const input = JSON.parse(await text(process.stdin)) as Input;
  let admin: postgres.Sql | undefined;
  try {
    admin = await connectAsAdmin(input.admin);
    await requireServer(admin, databaseIn(input.logins.owner));
    await requireNewRoles(admin, input);
    if (!input.check) await createDatabase(admin, input);
  } catch (error) {
    throw error instanceof Refused ? error : new Refused(explain(error), { cause: error });
  } finally {
    await admin?.end({ timeout: 5 });
  }
}

/** Connects the way the service does: to the server that accepts writes, directly or through a pooler. */
async function connectToPrimary(url: string, database?: string): Promise<postgres.Sql> {
  const primary = new Primary(url);
  const options = database === undefined ? connectionOptions : { ...connectionOptions, database };
  return connectTo(primary.address, await primary.find(), options);
}

async function connectAsAdmin(admin: Input["admin"], database?: string): Promise<postgres.Sql> {
  if ("url" in admin) return await connectToPrimary(admin.url, database);
  const { socketFolder, port } = admin;
  // Peer authentication accepts a system account only as the role of the same name.
  if (process.getuid?.() === 0) process.setuid?.("postgres");
  return postgres({
    ...connectionOptions,
    host: socketFolder,
    port,
    user: "postgres",
    database: database ?? "postgres",
  });
}

const databaseIn = (url: string) => parseDatabaseUrl(url).database ?? "";
const userIn = (url: string) => parseDatabaseUrl(url).user ?? "";
const passwordIn = (url: string) => decodeURIComponent(new URL(parseDatabaseUrl(url).driverUrl).password);
const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`;

async function requireServer(admin: postgres.Sql, database: string): Promise<void> {
  const [server] = await admin<
    {
      version: number;
      text: string;
      fsync: string;
      pages: string;
      can_create_roles: boolean;
      can_create_databases: boolean;
      is_superuser: boolean;
    }[]
  >`
    select current_setting('server_version_num')::int as version, current_setting('server_version') as text,
      current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
      r.rolcreaterole as can_create_roles, r.rolcreatedb as can_create_databases, r.rolsuper as is_superuser
    from pg_roles as r where r.rolname = current_user`;
  if (server === undefined) throw new Refused("The role that this connection uses no longer exists.");
  if (server.version < versionMin) {
    throw new Refused(`PostgreSQL ${server.text} is too old: 14 or later is needed.`);
  }
  if (server.fsync !== "on" || server.pages !== "on") {
    throw new Refused(
      "PostgreSQL is running with fsync or full_page_writes off and could lose leads; turn both on.",
    );
  }
  if (!server.is_superuser && !(server.can_create_roles && server.can_create_databases)) {
    throw new Refused(
      "The role in --database-url needs CREATEROLE and CREATEDB.",
    );
  }
  const [found] = await admin<{ encoding: string; owner: string }[]>`
    select pg_encoding_to_char(encoding) as encoding, datdba::regrole::text as owner
    from pg_database where datname = ${database}`;
  if (found !== undefined && found.encoding !== "UTF8") {
    throw new Refused(
      `The database ${database} exists with the encoding ${found.encoding}; it must be UTF8.`,
    );
  }
}

async function requireNewRoles(admin: postgres.Sql, { logins, newLogins }: Input): Promise<void> {
  const names = newLogins.map((login) => userIn(logins[login]));
  const found = await admin<{ name: string }[]>`
    select rolname as name from pg_roles where rolname = any (${names}) order by rolname`;
  if (found.length === 0) return;
  throw new Refused(
    `This PostgreSQL server already has the roles ${
      found.map(({ name }) => name).join(", ")
    }, and their passwords are not in ` +
      "/etc/lead-intake: copy owner_database_url and credentials from the machine that uses them, or pass " +
      "--new-passwords, which locks that machine out.",
  );
}

async function createDatabase(admin: postgres.Sql, { admin: server, logins }: Input): Promise<void> {
  const database = databaseIn(logins.owner);
  for (const group of ["lead_service", "lead_actions"]) {
    await createRoleIfMissing(admin, group, () => admin.unsafe(`create role ${group} nologin`));
  }
  for (const [kind, url] of Object.entries(logins)) {
    await createLogin(admin, kind as Login, url);
  }
  // PostgreSQL is on this machine: this grant lets the service and ctl doctor find its data directory and report the free space.
  if ("socketFolder" in server) {
    for (const url of [logins.owner, logins.service]) await grantReadAllSettings(admin, userIn(url));
  }
  const owner = userIn(logins.owner);
  const [found] = await admin`select 1 from pg_database where datname = ${database}`;
  if (found === undefined) {
    // A role that is not a superuser may create a database only for a role that it is a member of.
    await admin.unsafe(`do $$ begin
      if not (select rolsuper from pg_roles where rolname = current_user) then
        execute format('grant %I to current_user', '${owner}');
      end if;
    end $$`);
    await admin.unsafe(
      `create database ${quoteIdentifier(database)} owner ${
        quoteIdentifier(owner)
      } template template0 encoding 'UTF8'`,
    );
    console.log(`Created the database ${database}`);
  }
  const inDatabase = await connectAsAdmin(server, database);
  try {
    const [schema] =
      await inDatabase`select nspowner::regrole::text as owner from pg_namespace where nspname = 'public'`;
    if (schema?.owner !== owner) {
      await inDatabase.unsafe(`alter schema public owner to ${quoteIdentifier(owner)}`);
    }
    await inDatabase.unsafe(readFileSync(builtinsFile, "utf8"));
  } finally {
    await inDatabase.end({ timeout: 5 });
  }
  for (const url of Object.values(logins)) {
    const fault = await findLoginError(url);
    if (fault !== null) throw new Refused(`The role ${userIn(url)} cannot log in: ${fault}`);
  }
}

async function createLogin(
  admin: postgres.Sql,
  kind: Login,
  url: string,
): Promise<void> {
  const name = userIn(url);
  const password = passwordIn(url);
  const group = ({ owner: null, service: "lead_service", actions: "lead_actions" } as const)[kind];
  const isNew = await createRoleIfMissing(admin, name, async () => {
    const member = group === null ? "" : ` connection limit ${connectionLimits[group]} in role ${group}`;
    await admin.unsafe(
      `create role ${quoteIdentifier(name)} login password '${scramVerifier(password)}'${member}`,
    );
  });
  if (isNew) return;
  // The server authenticates before it looks up the database, so the password can be checked before the database exists.
  const fault = await findLoginError(url);
  if (fault === null || !/28P01|28000/.test(fault)) return;
  await admin.unsafe(`alter role ${quoteIdentifier(name)} with login password '${scramVerifier(password)}'`);
  console.log(`Set the password of the role ${name} to the one in its database URL`);
}

/** Allows a role to read data_directory. Rejected: pg_monitor, which also shows other roles' statements. */
async function grantReadAllSettings(admin: postgres.Sql, name: string): Promise<void> {
  const role = "pg_read_all_settings";
  const [found] = await admin`select 1 where pg_has_role(${name}, ${role}, 'usage')`;
  if (found !== undefined) return;
  await admin.unsafe(`grant ${role} to ${quoteIdentifier(name)}`);
  console.log(`Granted the role ${name} pg_read_all_settings`);
}

async function createRoleIfMissing(
  admin: postgres.Sql,
  name: string,
  create: () => PromiseLike<unknown>,
): Promise<boolean> {
  const [found] = await admin`select 1 from pg_roles where rolname = ${name}`;
  if (found !== undefined) return false;
  await create();
  console.log(`Created the role ${name}`);
  return true;
}

/** Returns the reason why a login fails; `null` if it succeeds. */
async function findLoginError(url: string): Promise<string | null> {
  let sql: postgres.Sql | undefined;
  try {
    sql = await connectToPrimary(url);
    await sql`select 1`;
    return null;
  } catch (error) {
    return explain(error);
  } finally {
    await sql?.end({ timeout: 5 });
  }
}

/** Returns the server's or the connection's message; neither contains a password. */
function explain(error: unknown): string {
  if (error instanceof DatabaseUrlError) return `The database URL ${error.message}.`;
  if (error instanceof NoPrimary) return `No server accepts writes: ${error.message}`;
  const { code, message } = error as { code?: string; message: string };
  if (error instanceof postgres.PostgresError) return `${message} (SQLSTATE ${code})`;
  return code === undefined ? message : `PostgreSQL cannot be reached (${code})`;
}

/** Returns a password's SCRAM verifier (RFC 5803), with PostgreSQL's default number of iterations. */
function scramVerifier(password: string): string {
  const iterations = 4_096;
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const mac = (name: string) => createHmac("sha256", salted).update(name).digest();
  const stored = createHash("sha256").update(mac("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${stored}:${
    mac("Server Key").toString("base64")
  }`;
}

try {
  await main();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
