/** Reads and repairs a database that was restored to an earlier point in time. */

import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";
import { isoTime } from "./admin_pool.ts";

export interface RestoredFacts {
  /** The commit time of the last transaction replayed from the WAL; `null` if none was replayed since the server started. */
  readonly point: string | null;
  readonly newestEventAt: string | null;
  readonly now: string;
  /** The number of connections from the service's processes, which must not deliver during the repair. */
  readonly processes: number;
}

export async function readRestoredFacts(pool: Pool): Promise<RestoredFacts> {
  const row = await queryOne(pool, (sql) =>
    sql<RestoredFacts[]>`
      select
        ${isoTime(sql, sql`pg_last_xact_replay_timestamp()`)} as point,
        (select ${isoTime(sql, sql`event_id_time(max(e.event_id))`)} from event as e)
          as "newestEventAt",
        ${isoTime(sql, sql`service_clock()`)} as now,
        (
          select count(*)::int from pg_stat_activity as a
          where a.datname = current_database() and a.application_name like 'lead-intake %'
            and a.application_name not in ('lead-intake ctl', 'lead-intake find')
        ) as processes`);
  if (row === null) throw new Error("The server returned no row");
  return row;
}

export interface WaitingEvent {
  readonly eventId: string;
  readonly tenant: string;
  readonly receivedAt: string;
  /** The number of attempts started before the restore point. */
  readonly attempts: number;
}

// Bounds what one statement reads and locks.
const pageRows = 1_000;

/** Reads the pending events of all live tenants, by id. */
export async function* readWaiting(pool: Pool): AsyncGenerator<WaitingEvent> {
  for (let after = "";;) {
    const rows = await query(pool, (sql) =>
      sql<WaitingEvent[]>`
        select o.event_id as "eventId", t.slug as tenant, o.made as attempts,
          ${isoTime(sql, sql`event_id_time(o.event_id)`)} as "receivedAt"
        from outbox as o join tenant as t on t.id = o.tenant_id
        where o.event_id > ${after} and not t.sandbox
        order by o.event_id limit ${pageRows}`);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = last.eventId;
  }
}

/** Marks effects as done, and returns the number of events with at least one effect that was not done before. */
export async function markEffectsDone(
  pool: Pool,
  done: readonly { readonly eventId: string; readonly effect: string }[],
): Promise<number> {
  let count = 0;
  for (let from = 0; from < done.length; from += pageRows) {
    const page = done.slice(from, from + pageRows);
    const rows = await query(pool, (sql) =>
      sql`select * from mark_effects_done(
        p_event_id => ${page.map(({ eventId }) => eventId)}, p_effect => ${
        page.map(({ effect }) => effect)
      })`);
    count += rows.length;
  }
  return count;
}

/** Turns those of the events that are pending into dead letters, audits this, and returns their ids. */
export async function holdEvents(pool: Pool, eventIds: readonly string[]): Promise<string[]> {
  const held: string[] = [];
  for (let from = 0; from < eventIds.length; from += pageRows) {
    const page = eventIds.slice(from, from + pageRows);
    const rows = await query(
      pool,
      (sql) => sql<{ event_id: string }[]>`select h.event_id from hold_events(${page}) as h`,
    );
    held.push(...rows.map((row) => row.event_id));
  }
  return held;
}

/** Marks those of the events that are dead letters as done, audits this, and returns their ids in order. */
export async function settleDeadAsDone(pool: Pool, eventIds: readonly string[]): Promise<string[]> {
  const rows = await query(pool, (sql) =>
    sql<{ event_id: string }[]>`
      select d.event_id from settle_dead_as_done(${[...eventIds]}) as d order by d.event_id collate "C"`);
  return rows.map((row) => row.event_id);
}

/** Audits a restore: its point in time and the counts of repairs. */
export async function auditRestore(
  pool: Pool,
  { point, counts }: { readonly point: string; readonly counts: Readonly<Record<string, number>> },
): Promise<void> {
  await query(
    pool,
    (sql) => sql`select note_audit('database.restore', ${point}, ${JSON.stringify(counts)}::text::json)`,
  );
}
