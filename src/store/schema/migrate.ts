/**
 * Migrates a database to the schema of this release.
 *
 * The numbered files in `sql/` are applied once, each in its own transaction. Changed functions and all grants are
 * applied together in one transaction, so that no process sees half of them. Processes of the releases in
 * `sql/serves.txt` keep running, because migrations only add to what those releases use.
 */

import postgres from "postgres";
import { connectTo } from "../connect.ts";
import { Primary } from "../primary.ts";
import {
  createSchemaTables,
  grantsFiles,
  isNumbered,
  readRelease,
  readSchemaState,
  recordRelease,
  type Release,
  type SqlFile,
  tooOldMessage,
} from "./release.ts";

// Arbitrary, but the same in every version, so that concurrent migrations wait for each other.
const migrationLock = 20_260_824;
// The server disconnects a migration that stalls for this long, which releases its locks.
const idleMaxMs = 60_000;
// Between attempts, the statements that queued behind the migration's lock request can run.
const attemptPauseMs = 1_000;

export interface MigrateOptions {
  /** The maximum wait for a lock. Chosen: 2 s, because posts that queue behind the request still meet their deadline. */
  readonly lockMs?: number;
  /** The maximum number of attempts per file, a second apart. Chosen: 30; a session that locks a table longer has hung. */
  readonly attemptsMax?: number;
  /** The maximum wait for another migration. Chosen: 10 minutes, because even a large database takes less. */
  readonly otherMs?: number;
  /** Default: this program's release. */
  readonly release?: Release;
}

/**
 * Applies missing and changed files and returns their names; none if the database is current or was migrated by a newer
 * release that supports this one. Only one migration of a database runs at a time.
 *
 * @throws {Error} when an applied numbered file was edited, the database is too new, the URL is a pooler's, or other
 * sessions hold locks
 */
export async function migrate(
  databaseUrl: string,
  { lockMs = 2_000, attemptsMax = 30, otherMs = 600_000, release }: MigrateOptions = {},
): Promise<string[]> {
  const primary = new Primary(databaseUrl);
  // The advisory lock and the settings belong to a session, which a pooler may change.
  if (primary.address.isPooled) throw new Error("A migration needs a database URL without a pooler");
  const sql = connectTo(primary.address, await primary.find(), {
    max: 1,
    onnotice: () => {},
    connect_timeout: 10,
    connection: {
      application_name: "lead-intake migrate",
      synchronous_commit: "on",
      lock_timeout: otherMs,
      idle_in_transaction_session_timeout: idleMaxMs,
      idle_session_timeout: idleMaxMs,
    },
  });
  try {
    await retryOnLock(sql, { what: "another migration is running or hangs", attemptsMax: 1 }, async () => {
      await sql`select pg_advisory_lock(${migrationLock})`;
    });
    await sql.unsafe(`set lock_timeout = ${Math.round(lockMs)}`);
    await createSchemaTables(sql);
    return await applyRelease(sql, release ?? await readRelease(), attemptsMax);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Retries work that needs locks. The final error names the sessions that hold them. */
async function retryOnLock(
  sql: postgres.Sql,
  { what, attemptsMax }: { what: string; attemptsMax: number },
  work: () => Promise<unknown>,
): Promise<void> {
  let holders: Map<number, string> | null = null;
  for (let attempt = 1;; attempt += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof postgres.PostgresError) || error.code !== "55P03") throw error;
      const current = await lockHolders(sql);
      // Only the sessions that held a lock at every attempt.
      holders = new Map([...(holders ?? current)].filter(([pid]) => current.has(pid)));
      if (attempt === attemptsMax) {
        throw new Error(
          `The migration failed: ${what} (SQLSTATE 55P03). Sessions that hold locks: ${
            [...holders.values()].join(", ") || "unknown"
          }. End them with pg_terminate_backend(pid) and run the migration again; files already applied stay applied.`,
          { cause: error },
        );
      }
      await new Promise((resolve) => setTimeout(resolve, attemptPauseMs));
    }
  }
}

/** Reads the other sessions that hold a table lock or the migration lock, by process id. */
async function lockHolders(sql: postgres.Sql): Promise<Map<number, string>> {
  const rows = await sql<{ pid: number; name: string }[]>`
    select distinct l.pid, concat_ws(' ', l.pid, nullif(a.application_name, ''), a.usename, a.state) as name
    from pg_locks as l join pg_stat_activity as a on a.pid = l.pid
    where l.granted and l.pid <> pg_backend_pid()
      and l.database = (select oid from pg_database where datname = current_database())
      and (l.locktype = 'relation' or l.locktype = 'advisory' and l.objid = ${migrationLock})
    order by l.pid`;
  return new Map(rows.map(({ pid, name }) => [pid, name]));
}

async function applyRelease(sql: postgres.Sql, release: Release, attemptsMax: number): Promise<string[]> {
  const state = await readSchemaState(sql, release);
  if (state.kind === "served") return [];
  if (state.kind === "too_old") {
    throw new Error(`The migration failed: ${tooOldMessage(release, state)}.`);
  }
  const { files } = release;
  const missing = state.kind === "incomplete" ? state.files : [];
  const applied = await readNames(sql);
  const edited = missing.find(({ name }) => isNumbered(name) && applied.has(name));
  if (edited !== undefined) {
    throw new Error(
      `This database was created by another version of this repository, with a different sql/${edited.name}.
Use that version or another database. To recreate the database of npm start, move or delete the folder .data.
(If you have edited that file, undo the edit and add a new file: an applied file must not change.)`,
    );
  }
  const parts = missing.filter(({ name }) => isNumbered(name)).map((file) => ({
    name: file.name,
    files: [file],
    record: null as Release | null,
  }));
  const replaced = files.filter((file) =>
    grantsFiles.includes(file.name) || !isNumbered(file.name) && missing.includes(file)
  );
  for (
    const { name, files, record } of [...parts, { name: "functions/", files: replaced, record: release }]
  ) {
    const what = `sql/${name} needs a table that other sessions have locked`;
    await retryOnLock(sql, { what, attemptsMax }, () => apply(sql, files, record));
  }
  return missing.map(({ name }) => name);
}

async function readNames(sql: postgres.Sql): Promise<ReadonlySet<string>> {
  const rows = await sql<{ name: string }[]>`select name from schema_file`;
  return new Set(rows.map(({ name }) => name));
}

/** Applies files in one transaction, and records the release unless it is `null`. */
async function apply(
  sql: postgres.Sql,
  files: readonly SqlFile[],
  release: Release | null,
): Promise<void> {
  await sql.begin(async (transaction) => {
    // The files are applied in order of name, but a function may call a function in a later file.
    await transaction`set local check_function_bodies = off`;
    for (const file of files) {
      await transaction.unsafe(file.text);
      await transaction`
        insert into schema_file (name, digest) values (${file.name}, ${file.digest})
        on conflict (name) do update set digest = excluded.digest, applied_at = now()`;
    }
    if (release !== null) await recordRelease(transaction as unknown as postgres.Sql, release);
  });
}
