/**
 * Brings a database to the shape that this program expects.
 *
 * The numbered files of `sql/` are applied once, each in a transaction of its own. The functions are applied again when they
 * have changed, and the grants at every migration; these two go in one transaction, so that no process finds half of them.
 *
 * Processes of the releases that this one serves (`sql/serves.txt`) go on all the while, and can be started afterwards: the
 * files only add to what they use.
 *
 * @module
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
  readStanding,
  type Release,
  type SqlFile,
} from "./release.ts";

// Arbitrary, but the same for every version: two migrations at once wait for each other.
const migrationLock = 20_260_824;
// A migration that stands still between two statements loses its connection, and its locks with it.
const idleMaxMs = 60_000;
// Between two tries for a lock: what has queued behind the first has its turn.
const attemptPauseMs = 1_000;

/** How long a migration waits for the locks of other sessions. */
export interface MigrateOptions {
  /**
   * How long a file waits for a lock, in milliseconds. Posts queue behind the wait.
   *
   * Chosen: 2 s, because they are answered after it, well before the deadline of their commit.
   */
  readonly lockMs?: number;
  /** How often a file is tried. Chosen: 30 times, a second apart: what holds a table for longer does not work, it hangs. */
  readonly attemptsMax?: number;
  /**
   * How long another migration is waited for, in milliseconds.
   *
   * Chosen: 10 minutes, longer than the migration of a large database takes.
   */
  readonly otherMs?: number;
  /** What is applied: this program's own release when left out. */
  readonly release?: Release;
}

/**
 * Applies what is missing, one migration at a time over all nodes, and returns the names of the
 * files it applied; an empty array means that the database was current, or that a newer release has migrated it and this
 * one works on it as it is.
 *
 * @throws {Error} when a numbered file that was applied has been edited since, when the database is too new, or when other
 * sessions do not let go of their locks; the message names them
 */
export async function migrate(
  databaseUrl: string,
  { lockMs = 2_000, attemptsMax = 30, otherMs = 600_000, release }: MigrateOptions = {},
): Promise<string[]> {
  const primary = new Primary(databaseUrl);
  // Its lock is the session's, and so is what it sets.
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
    await unlessHeld(sql, { what: "another migration is under way, or hangs", attemptsMax: 1 }, async () => {
      await sql`select pg_advisory_lock(${migrationLock})`;
    });
    await sql.unsafe(`set lock_timeout = ${Math.round(lockMs)}`);
    await createNotes(sql);
    return await applyRelease(sql, release ?? await readRelease(), attemptsMax);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Does something that needs locks, and tries again when it does not get them; then says who holds them. */
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
      // Whoever held a lock every time: the others come and go.
      holders = new Map([...(holders ?? found)].filter(([pid]) => found.has(pid)));
      if (attempt === attemptsMax) {
        throw new Error(
          `The migration was given up: ${what} (SQLSTATE 55P03). Sessions that hold locks: ${
            [...holders.values()].join(", ") || "unknown"
          }. End them, select pg_terminate_backend(pid), and run it again; what was applied before stays.`,
          { cause: error },
        );
      }
      await new Promise((settle) => setTimeout(settle, attemptPauseMs));
    }
  }
}

/** Other sessions that hold a lock on a table of this database or are migrating it, by process id. */
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
  const standing = await readStanding(sql, release);
  if (standing.kind === "served") return [];
  if (standing.kind === "left_behind") {
    throw new Error(`The migration was given up: ${leftBehind(release, standing)}.`);
  }
  const { files } = release;
  const missing = standing.kind === "lacks" ? standing.files : [];
  const applied = await readNames(sql);
  const edited = missing.find(({ name }) => isNumbered(name) && applied.has(name));
  if (edited !== undefined) {
    throw new Error(
      `This database was made by another version of this repository: it has another sql/${edited.name}.
Use that version, or another database. The database of npm start is made anew when the folder .data is moved away or deleted.
(If you have changed that file: what was applied is never changed; undo it and add a new file.)`,
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
    const what = `sql/${name} needs a table that other sessions do not let go of`;
    await unlessHeld(sql, { what, attemptsMax }, () => apply(sql, files, note));
  }
  return missing.map(({ name }) => name);
}

/** The names of the files that a database has. */
async function readNames(sql: postgres.Sql): Promise<ReadonlySet<string>> {
  const rows = await sql<{ name: string }[]>`select name from schema_file`;
  return new Set(rows.map(({ name }) => name));
}

/** Applies files in one transaction, and with the last ones notes the release. */
async function apply(
  sql: postgres.Sql,
  files: readonly SqlFile[],
  note: Release | null,
): Promise<void> {
  await sql.begin(async (transaction) => {
    // Functions call one another, and their files are applied in the order of their names.
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
