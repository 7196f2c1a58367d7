/** Reads and repairs a database that was restored to an earlier moment. */

import type { Pool } from "../pool.ts";
import { ask, askOne, isoOf } from "./admin_pool.ts";

export interface RestoredFacts {
  /** Commit time of the last restored transaction; `null`: not restored since the server started. */
  readonly point: string | null;
  readonly newestEventAt: string | null;
  readonly now: string;
  /** Our other processes' connections; none may deliver during the repair. */
  readonly processes: number;
}

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
  if (row === null) throw new Error("The server returned no row");
  return row;
}

/** A waiting event of a live tenant. */
export interface WaitingEvent {
  readonly eventId: string;
  readonly tenant: string;
  readonly receivedAt: string;
  /** Attempts begun before the restore's moment. */
  readonly attempts: number;
}

// Bounds what one statement reads and locks.
const pageRows = 1_000;

/** All waiting events of live tenants, by id. */
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

interface NamedKey {
  readonly tenant: string;
  readonly label: string;
  readonly isRevoked: boolean;
}

export async function readKey(pool: Pool, id: string): Promise<NamedKey | null> {
  return await askOne(pool, (sql) =>
    sql<NamedKey[]>`
      select t.slug as tenant, k.label, k.revoked_at is not null as "isRevoked"
      from api_key as k join tenant as t on t.id = k.tenant_id where k.id = ${id}::bigint`);
}

/** Marks effects as done, and returns how many events had one to mark. */
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

/** Turns waiting events into dead letters, and returns the ids of those that waited. */
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

/** Settles dead letters as delivered, and returns in order the ids that were dead. */
export async function settleDeadAsDone(pool: Pool, eventIds: readonly string[]): Promise<string[]> {
  const rows = await ask(pool, (sql) =>
    sql<{ event_id: string }[]>`
      select d.event_id from settle_dead_as_done(${[...eventIds]}) as d order by d.event_id collate "C"`);
  return rows.map((row) => row.event_id);
}

/** Audits the restore's moment, and the repairs. */
export async function noteRestore(
  pool: Pool,
  { point, counts }: { readonly point: string; readonly counts: Readonly<Record<string, number>> },
): Promise<void> {
  await ask(
    pool,
    (sql) => sql`select note_audit('database.restore', ${point}, ${JSON.stringify(counts)}::text::json)`,
  );
}
