import { leftBehind, readRelease, readSchemaState } from "./release.ts";
import type { Pool } from "../pool.ts";

/** The database cannot be used; the message has one sentence a line. */
export class DatabaseRefused extends Error {
  override readonly name = "DatabaseRefused";
}

const deadlineMs = 5_000;
// Enough names to tell an empty database from one that lacks the newest file.
const namesMax = 3;
// client_connection_check_interval came with 14.
const versionMin = 140_000;

/**
 * Requires a database that is durable, UTF8, and migrated by this release or by a newer one that serves it.
 *
 * Source: DECISIONS, The intake endpoint (durability) and Operating it.
 *
 * @throws {DatabaseRefused} with all faults
 * @throws {Unavailable} when it cannot be reached
 */
export async function requireUsableDatabase(pool: Pool): Promise<void> {
  const faults = await databaseFaults(pool);
  if (faults.length > 0) throw new DatabaseRefused(faults.join("\n"));
}

async function databaseFaults(pool: Pool): Promise<string[]> {
  // Reads the files while the connection opens.
  const [row, release] = await Promise.all([readSettings(pool), readRelease()]);
  const faults: string[] = [];
  if (!(Number(row.version) >= versionMin)) faults.push("PostgreSQL 14 or later is required");
  if (row.fsync !== "on") faults.push("the server runs with fsync off: a 202 could be lost");
  if (row.full_page_writes !== "on") {
    faults.push("the server runs with full_page_writes off: a 202 could be lost");
  }
  if (row.encoding !== "UTF8") {
    faults.push(`the database's encoding is ${row.encoding}; it must be UTF8`);
  }
  // Functions ensure durability themselves (ensure_synchronous_commit), but cannot set what a statement sees.
  if (row.isolation !== "read committed") {
    faults.push(`default_transaction_isolation is ${row.isolation}; it must be read committed`);
  }
  if (!pool.isPooled && row.statement_timeout === "0") {
    faults.push(
      "connection settings have no effect; if the address is a pooler's, add ?pooler=transaction to it",
    );
  }
  const state = await pool.run(deadlineMs, (sql) => readSchemaState(sql, release));
  if (state.kind === "lacks") {
    const names = state.files.map(({ name }) => name);
    faults.push(`the database is not migrated; run: npm run migrate (it lacks ${firstOf(names)})`);
  }
  if (state.kind === "left_behind") faults.push(leftBehind(release, state));
  return faults;
}

async function readSettings(pool: Pool): Promise<Readonly<Record<string, string>>> {
  const [row] = await pool.run(deadlineMs, (sql) =>
    sql<Record<string, string>[]>`
      select current_setting('default_transaction_isolation') as isolation,
        current_setting('statement_timeout') as statement_timeout,
        current_setting('server_version_num') as version, current_setting('fsync') as fsync,
        current_setting('full_page_writes') as full_page_writes,
        current_setting('server_encoding') as encoding`);
  return row ?? {};
}

/** The session's role if it has the rights of the tables' owner, as a superuser does; otherwise `null`. */
export async function readOwnerRole(pool: Pool): Promise<string | null> {
  const [row] = await pool.run(
    deadlineMs,
    (sql) =>
      sql<{ role: string; owns: boolean }[]>`
      select current_user as role, pg_has_role(current_user, c.relowner, 'usage') as owns
      from pg_class as c where c.oid = 'public.event'::regclass`,
  );
  return row?.owns ? row.role : null;
}

function firstOf(names: readonly string[]): string {
  const more = names.length - namesMax;
  return names.slice(0, namesMax).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
