/**
 * Migrates a database to the schema of this release.
 *
 * Numbered files of `sql/` are applied once, each in its own transaction. Changed functions and all grants are
 * applied together in one transaction, so that no process sees half of them. Processes of the releases in
 * `sql/serves.txt` keep running, because files only add to what they use.
 */

import postgres from "postgres";
import { connectTo } from "../connect.ts";
import { Primary } from "../primary.ts";
import {
  createNotes,
  grantsFiles,
  isNumbered,
  leftBehind,
  noteRelease,
  readRelease,
  readSchemaState,
  type Release,
  type SqlFile,
} from "./release.ts";

// Arbitrary, but the same in every version, so that concurrent migrations wait for each other.
const migrationLock = 20_260_824;
// A migration that stalls loses its connection and its locks.
const idleMaxMs = 60_000;
// Between attempts to lock, what has queued behind the first gets its turn.
const attemptPauseMs = 1_000;

export interface MigrateOptions {
  /** Milliseconds to wait for a lock. Chosen: 2 s; posts queue behind the wait, within their deadline. */
  readonly lockMs?: number;
  /** Attempts per file, a second apart. Chosen: 30, because a session that holds a table longer hangs. */
  readonly attemptsMax?: number;
  /** Milliseconds to wait for another migration. Chosen: 10 minutes, longer than a large database takes. */
  readonly otherMs?: number;
  /** Default: this program's release. */
  readonly release?: Release;
}

/**
 * Applies missing files, one migration at a time over all nodes, and returns their names; none when the database is
 * current, or was migrated by a newer release that serves this one.
 *
 * @throws {Error} when an applied numbered file was edited, the database is too new, or other sessions hold locks
 */
export async function migrate(
  databaseUrl: string,
  { lockMs = 2_000, attemptsMax = 30, otherMs = 600_000, release }: MigrateOptions = {},
): Promise<string[]> {
  const primary = new Primary(databaseUrl);
  // The advisory lock and the settings belong to the session.
  if (primary.address.isPooled) throw new Error("A migration needs an address without a pooler");
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
    await unlessHeld(sql, { what: "another migration is running or hangs", attemptsMax: 1 }, async () => {
      await sql`select pg_advisory_lock(${migrationLock})`;
    });
    await sql.unsafe(`set lock_timeout = ${Math.round(lockMs)}`);
    await createNotes(sql);
    return await applyRelease(sql, release ?? await readRelease(), attemptsMax);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Retries work that needs locks, and names the sessions that hold them when it fails. */
async function unlessHeld(
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
      const found = await lockHolders(sql);
      // Sessions that held a lock at every attempt.
      holders = new Map([...(holders ?? found)].filter(([pid]) => found.has(pid)));
      if (attempt === attemptsMax) {
        throw new Error(
          `The migration failed: ${what} (SQLSTATE 55P03). Sessions that hold locks: ${
            [...holders.values()].join(", ") || "unknown"
          }. End them with pg_terminate_backend(pid) and run it again; what was applied stays.`,
          { cause: error },
        );
      }
      await new Promise((settle) => setTimeout(settle, attemptPauseMs));
    }
  }
}

/** Other sessions that hold a table lock or the migration lock, by process id. */
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
  if (state.kind === "left_behind") {
    throw new Error(`The migration failed: ${leftBehind(release, state)}.`);
  }
  const { files } = release;
  const missing = state.kind === "lacks" ? state.files : [];
  const applied = await readNames(sql);
  const edited = missing.find(({ name }) => isNumbered(name) && applied.has(name));
  if (edited !== undefined) {
    throw new Error(
      `This database was created by another version of this repository, with another sql/${edited.name}.
Use that version or another database. To recreate the database of npm start, move or delete the folder .data.
(If you have edited that file, undo the edit and add a new file: applied files never change.)`,
    );
  }
  const parts = missing.filter(({ name }) => isNumbered(name)).map((file) => ({
    name: file.name,
    files: [file],
    note: null as Release | null,
  }));
  const replaced = files.filter((file) =>
    grantsFiles.includes(file.name) || !isNumbered(file.name) && missing.includes(file)
  );
  for (const { name, files, note } of [...parts, { name: "functions/", files: replaced, note: release }]) {
    const what = `sql/${name} needs a table that other sessions have locked`;
    await unlessHeld(sql, { what, attemptsMax }, () => apply(sql, files, note));
  }
  return missing.map(({ name }) => name);
}

async function readNames(sql: postgres.Sql): Promise<ReadonlySet<string>> {
  const rows = await sql<{ name: string }[]>`select name from schema_file`;
  return new Set(rows.map(({ name }) => name));
}

/** Applies files in one transaction, and with the last ones records the release. */
async function apply(
  sql: postgres.Sql,
  files: readonly SqlFile[],
  note: Release | null,
): Promise<void> {
  await sql.begin(async (transaction) => {
    // Files are applied by name, but functions call one another.
    await transaction`set local check_function_bodies = off`;
    for (const file of files) {
      await transaction.unsafe(file.text);
      await transaction`
        insert into schema_file (name, digest) values (${file.name}, ${file.digest})
        on conflict (name) do update set digest = excluded.digest, applied_at = now()`;
    }
    if (note !== null) await noteRelease(transaction as unknown as postgres.Sql, note);
  });
}
