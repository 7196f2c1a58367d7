/**
 * Creates the roles and the database that the service needs, for `scripts/install.sh`. What exists is kept; only an
 * existing login that rejects the password in its URL gets that password.
 *
 * Reads JSON on standard input, so that no password is on a command line or in the environment, and prints a line per
 * change. Passwords go to the server as SCRAM verifiers, because it could log statements.
 */

import { readFileSync } from "node:fs";
import process from "node:process";
import { text } from "node:stream/consumers";
import postgres from "postgres";
import { AddressFault, parseDatabaseUrl } from "#src/store/address.ts";
import { connectTo } from "#src/store/connect.ts";
import { Primary } from "#src/store/primary.ts";
import { builtinsFile, connectionLimits } from "#src/store/schema/rights.ts";
import { NoPrimary } from "#src/store/unavailable.ts";
import { verifierOf } from "./scram.ts";

/** The input. */
interface Wanted {
  /** Only checks whether the server can be used. */
  readonly check?: boolean;
  /** The URL of a role that may create roles and databases, or the local server's socket. */
  readonly admin: { readonly url: string } | { readonly socketFolder: string; readonly port: number };
  /** The URLs of the owner, the service and the actions process: one database, three logins. */
  readonly logins: Readonly<Record<Login, string>>;
  /** The logins with a newly generated password: an existing role is an error, because its users would be locked out. */
  readonly made: readonly Login[];
}

type Login = "owner" | "service" | "actions";

/** A problem that the operator has to fix, in one sentence. */
class Refused extends Error {
  override readonly name = "Refused";
}

const versionMin = 140_000;
const quiet = {
  max: 1,
  onnotice: () => {},
  connect_timeout: 10,
  connection: { application_name: "lead-intake install" },
} as const;

async function main(): Promise<void> {
  const wanted = JSON.parse(await text(process.stdin)) as Wanted;
  let admin: postgres.Sql | undefined;
  try {
    admin = await connect(wanted.admin);
    await requireServer(admin, databaseOf(wanted.logins.owner));
    await requireNewRoles(admin, wanted);
    if (!wanted.check) await prepare(admin, wanted);
  } catch (error) {
    throw error instanceof Refused ? error : new Refused(explain(error), { cause: error });
  } finally {
    await admin?.end({ timeout: 5 });
  }
}

/** Connects as the service does: to the server that accepts writes, past a pooler too. */
async function open(url: string, database?: string): Promise<postgres.Sql> {
  const primary = new Primary(url);
  const options = database === undefined ? quiet : { ...quiet, database };
  return connectTo(primary.address, await primary.find(), options);
}

async function connect(admin: Wanted["admin"], database?: string): Promise<postgres.Sql> {
  if ("url" in admin) return await open(admin.url, database);
  const { socketFolder, port } = admin;
  // Peer authentication admits this account as the role of the same name.
  if (process.getuid?.() === 0) process.setuid?.("postgres");
  return postgres({ ...quiet, host: socketFolder, port, user: "postgres", database: database ?? "postgres" });
}

const databaseOf = (url: string) => parseDatabaseUrl(url).database ?? "";
const userOf = (url: string) => parseDatabaseUrl(url).user ?? "";
const passwordOf = (url: string) => decodeURIComponent(new URL(parseDatabaseUrl(url).rest).password);
const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

async function requireServer(admin: postgres.Sql, database: string): Promise<void> {
  const [server] = await admin<
    {
      version: number;
      text: string;
      fsync: string;
      pages: string;
      roles: boolean;
      databases: boolean;
      root: boolean;
    }[]
  >`
    select current_setting('server_version_num')::int as version, current_setting('server_version') as text,
      current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
      r.rolcreaterole as roles, r.rolcreatedb as databases, r.rolsuper as root
    from pg_roles as r where r.rolname = current_user`;
  if (server === undefined) throw new Refused("The role that this connection uses no longer exists.");
  if (server.version < versionMin) {
    throw new Refused(`PostgreSQL ${server.text} is too old: 14 or later is needed.`);
  }
  if (server.fsync !== "on" || server.pages !== "on") {
    throw new Refused(
      "PostgreSQL runs with fsync or full_page_writes off and could lose a lead; turn them on.",
    );
  }
  if (!server.root && !(server.roles && server.databases)) {
    throw new Refused(
      "The role of --database-url needs CREATEROLE and CREATEDB.",
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

async function requireNewRoles(admin: postgres.Sql, { logins, made }: Wanted): Promise<void> {
  const names = made.map((login) => userOf(logins[login]));
  const found = await admin<{ name: string }[]>`
    select rolname as name from pg_roles where rolname = any (${names}) order by rolname`;
  if (found.length === 0) return;
  throw new Refused(
    `This PostgreSQL already has ${
      found.map(({ name }) => name).join(", ")
    }, with passwords that are not in ` +
      "/etc/lead-intake: copy owner_database_url and credentials from the machine that uses them, or pass " +
      "--new-passwords, which locks that machine out.",
  );
}

async function prepare(admin: postgres.Sql, { admin: place, logins }: Wanted): Promise<void> {
  const database = databaseOf(logins.owner);
  for (const group of ["lead_service", "lead_actions"]) {
    await unlessThere(admin, group, () => admin.unsafe(`create role ${group} nologin`));
  }
  for (const [kind, url] of Object.entries(logins)) {
    await prepareLogin(admin, kind as Login, url);
  }
  // The disk is this machine's, so the service and ctl doctor report how full it is.
  if ("socketFolder" in place) {
    for (const url of [logins.owner, logins.service]) await grantSettings(admin, userOf(url));
  }
  const owner = userOf(logins.owner);
  const [found] = await admin`select 1 from pg_database where datname = ${database}`;
  if (found === undefined) {
    // A role that is not a superuser may only create databases for roles that it is a member of.
    await admin.unsafe(`do $$ begin
      if not (select rolsuper from pg_roles where rolname = current_user) then
        execute format('grant %I to current_user', '${owner}');
      end if;
    end $$`);
    await admin.unsafe(
      `create database ${quoted(database)} owner ${quoted(owner)} template template0 encoding 'UTF8'`,
    );
    console.log(`Created the database ${database}`);
  }
  const inside = await connect(place, database);
  try {
    const [schema] =
      await inside`select nspowner::regrole::text as owner from pg_namespace where nspname = 'public'`;
    if (schema?.owner !== owner) await inside.unsafe(`alter schema public owner to ${quoted(owner)}`);
    await inside.unsafe(readFileSync(builtinsFile, "utf8"));
  } finally {
    await inside.end({ timeout: 5 });
  }
  for (const url of Object.values(logins)) {
    const fault = await loginFault(url);
    if (fault !== null) throw new Refused(`The role ${userOf(url)} cannot log in: ${fault}`);
  }
}

async function prepareLogin(
  admin: postgres.Sql,
  kind: Login,
  url: string,
): Promise<void> {
  const name = userOf(url);
  const password = passwordOf(url);
  const group = ({ owner: null, service: "lead_service", actions: "lead_actions" } as const)[kind];
  const isNew = await unlessThere(admin, name, async () => {
    const member = group === null ? "" : ` connection limit ${connectionLimits[group]} in role ${group}`;
    await admin.unsafe(`create role ${quoted(name)} login password '${verifierOf(password)}'${member}`);
  });
  if (isNew) return;
  // Authentication comes first, so this works before the database exists.
  const fault = await loginFault(url);
  if (fault === null || !/28P01|28000/.test(fault)) return;
  await admin.unsafe(`alter role ${quoted(name)} with login password '${verifierOf(password)}'`);
  console.log(`Set the password of the role ${name} to the one in its settings`);
}

/**
 * Allows a role to read data_directory. Rejected: pg_monitor, which also shows every statement that others run.
 */
async function grantSettings(admin: postgres.Sql, name: string): Promise<void> {
  const right = "pg_read_all_settings";
  const [found] = await admin`select 1 where pg_has_role(${name}, ${right}, 'usage')`;
  if (found !== undefined) return;
  await admin.unsafe(`grant ${right} to ${quoted(name)}`);
  console.log(`Granted the role ${name} pg_read_all_settings`);
}

async function unlessThere(
  admin: postgres.Sql,
  name: string,
  make: () => PromiseLike<unknown>,
): Promise<boolean> {
  const [found] = await admin`select 1 from pg_roles where rolname = ${name}`;
  if (found !== undefined) return false;
  await make();
  console.log(`Created the role ${name}`);
  return true;
}

/** Why a login fails, or `null`. */
async function loginFault(url: string): Promise<string | null> {
  let sql: postgres.Sql | undefined;
  try {
    sql = await open(url);
    await sql`select 1`;
    return null;
  } catch (error) {
    return explain(error);
  } finally {
    await sql?.end({ timeout: 5 });
  }
}

/** The server's or the connection's message; neither contains a password. */
function explain(error: unknown): string {
  if (error instanceof AddressFault) return `The address of the database ${error.message}.`;
  if (error instanceof NoPrimary) return `No server accepts writes: ${error.message}`;
  const { code, message } = error as { code?: string; message: string };
  if (error instanceof postgres.PostgresError) return `${message} (SQLSTATE ${code})`;
  return code === undefined ? message : `PostgreSQL cannot be reached (${code})`;
}

try {
  await main();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
