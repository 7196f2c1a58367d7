import { readRelease, readSchemaState, tooOldMessage } from "./release.ts";
import type { Pool } from "../pool.ts";

/** Thrown when the database cannot be used. The message has one problem per line. */
export class DatabaseRefused extends Error {
  override readonly name = "DatabaseRefused";
}

const deadlineMs = 5_000;
// Enough names to distinguish an empty database from one that lacks the newest file.
const namesMax = 3;
// Version 14 added client_connection_check_interval.
const versionMin = 140_000;

/**
 * Checks that the database is durable, uses UTF8, and was migrated by this release or by a newer one that supports it.
 *
 * Source: DECISIONS, The intake endpoint (durability) and Operating it.
 *
 * @throws {DatabaseRefused} with all problems
 * @throws {Unavailable} when the database cannot be reached
 */
export async function requireUsableDatabase(pool: Pool): Promise<void> {
  const problems = await databaseProblems(pool);
  if (problems.length > 0) throw new DatabaseRefused(problems.join("\n"));
}

async function databaseProblems(pool: Pool): Promise<string[]> {
  // Reads the files while the connection opens.
  const [row, release] = await Promise.all([readSettings(pool), readRelease()]);
  const problems: string[] = [];
  if (!(Number(row.version) >= versionMin)) problems.push("PostgreSQL 14 or later is required");
  if (row.fsync !== "on") problems.push("fsync is off: an accepted lead could be lost");
  if (row.full_page_writes !== "on") problems.push("full_page_writes is off: an accepted lead could be lost");
  if (row.encoding !== "UTF8") problems.push(`the database's encoding is ${row.encoding}; it must be UTF8`);
  // SQL functions ensure durability themselves (ensure_synchronous_commit), but cannot set the isolation level.
  if (row.isolation !== "read committed") {
    problems.push(`default_transaction_isolation is ${row.isolation}; it must be read committed`);
  }
  if (!pool.isPooled && row.statement_timeout === "0") {
    problems.push(
      "connection settings have no effect; if the URL is a pooler's, add ?pooler=transaction to it",
    );
  }
  const state = await pool.run(deadlineMs, (sql) => readSchemaState(sql, release));
  if (state.kind === "incomplete") {
    const names = state.files.map(({ name }) => name);
    problems.push(`the database is not migrated; run: npm run migrate (it lacks ${firstNames(names)})`);
  }
  if (state.kind === "too_old") problems.push(tooOldMessage(release, state));
  return problems;
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

/** Returns the session's role if the role has the rights of the tables' owner, as a superuser does; otherwise `null`. */
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

function firstNames(names: readonly string[]): string {
  const more = names.length - namesMax;
  return names.slice(0, namesMax).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
