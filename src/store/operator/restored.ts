/**
 * What an operator asks and changes after a restore to an earlier moment: what waits there, who works on the database,
 * and what is put right from the records that are kept outside of it.
 *
 * @module
 */

import type { Pool } from "../pool.ts";
import { ask, askOne, isoOf } from "./admin_pool.ts";

/** The database after a restore. Times are ISO 8601, UTC. */
export interface RestoredFacts {
  /** When the last transaction was committed that the restore has; `null`: this server was not restored since its start. */
  readonly point: string | null;
  /** The newest event that is stored. */
  readonly newestEventAt: string | null;
  /** The server's clock. */
  readonly now: string;
  /** Connections of our processes, apart from ctl's own and searches for a primary: nobody may deliver while this is put right. */
  readonly processes: number;
}

/** Asks. */
export async function readRestoredFacts(pool: Pool): Promise<RestoredFacts> {
  const row = await askOne(pool, (sql) =>
    sql<RestoredFacts[]>`
      select
        ${isoOf(sql, sql`pg_last_xact_replay_timestamp()`)} as point,
        (select ${isoOf(sql, sql`event_id_time(max(e.event_id))`)} from event as e)
          as "newestEventAt",
        ${isoOf(sql, sql`service_clock()`)} as now,
        (
          select count(*)::int from pg_stat_activity as a
          where a.datname = current_database() and a.application_name like 'lead-intake %'
            and a.application_name not in ('lead-intake ctl', 'lead-intake find')
        ) as processes`);
  if (row === null) throw new Error("The server says nothing of itself");
  return row;
}

/** An event that waits and would be sent, by its tenant; a sandbox's reaches nobody and is left out. */
export interface WaitingEvent {
  readonly eventId: string;
  readonly tenant: string;
  readonly receivedAt: string;
  /** Attempts that were begun before the moment of the restore. */
  readonly attempts: number;
}

// Bounds what one statement reads and locks.
const pageRows = 1_000;

/** Everything that waits to be delivered to somebody, in the order of the ids. */
export async function* readWaiting(pool: Pool): AsyncGenerator<WaitingEvent> {
  for (let after = "";;) {
    const rows = await ask(pool, (sql) =>
      sql<WaitingEvent[]>`
        select o.event_id as "eventId", t.slug as tenant, o.made as attempts,
          ${isoOf(sql, sql`event_id_time(o.event_id)`)} as "receivedAt"
        from outbox as o join tenant as t on t.id = o.tenant_id
        where o.event_id > ${after} and not t.sandbox
        order by o.event_id limit ${pageRows}`);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = last.eventId;
  }
}

/** A key by its id, for a deed that names it. */
interface NamedKey {
  readonly tenant: string;
  readonly label: string;
  readonly isRevoked: boolean;
}

/** Whose key it is; `null` when there is none. */
export async function readKey(pool: Pool, id: string): Promise<NamedKey | null> {
  const row = await askOne(pool, (sql) =>
    sql<NamedKey[]>`
      select t.slug as tenant, k.label, k.revoked_at is not null as "isRevoked"
      from api_key as k join tenant as t on t.id = k.tenant_id where k.id = ${id}::bigint`);
  return row;
}

/** Notes effects as done, pairs of an event and a kind; returns how many events had one to note. */
export async function markEffectsDone(
  pool: Pool,
  done: readonly { readonly eventId: string; readonly effect: string }[],
): Promise<number> {
  let count = 0;
  for (let from = 0; from < done.length; from += pageRows) {
    const page = done.slice(from, from + pageRows);
    const rows = await ask(pool, (sql) =>
      sql`select * from mark_effects_done(
        p_event_id => ${page.map(({ eventId }) => eventId)}, p_effect => ${
        page.map(({ effect }) => effect)
      })`);
    count += rows.length;
  }
  return count;
}

/** Puts events that wait aside as dead letters; returns the ids of those that waited. */
export async function holdEvents(pool: Pool, eventIds: readonly string[]): Promise<string[]> {
  const held: string[] = [];
  for (let from = 0; from < eventIds.length; from += pageRows) {
    const page = eventIds.slice(from, from + pageRows);
    const rows = await ask(
      pool,
      (sql) => sql<{ event_id: string }[]>`select h.event_id from hold_events(${page}) as h`,
    );
    held.push(...rows.map((row) => row.event_id));
  }
  return held;
}

/** Says of dead letters that the customer has them; returns the ids of those that were dead, in their order. */
export async function settleDeadAsDone(pool: Pool, eventIds: readonly string[]): Promise<string[]> {
  const rows = await ask(pool, (sql) =>
    sql<{ event_id: string }[]>`
      select d.event_id from settle_dead_as_done(${[...eventIds]}) as d order by d.event_id collate "C"`);
  return rows.map((row) => row.event_id);
}

/** Notes in the audit that the database was restored to a moment, and what was put right. */
export async function noteRestore(
  pool: Pool,
  { point, counts }: { readonly point: string; readonly counts: Readonly<Record<string, number>> },
): Promise<void> {
  await ask(
    pool,
    (sql) => sql`select note_audit('database.restore', ${point}, ${JSON.stringify(counts)}::text::json)`,
  );
}
