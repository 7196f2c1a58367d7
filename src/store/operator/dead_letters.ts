import type postgres from "postgres";
import type { DestinationKind } from "../delivery/effects.ts";
import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";
import { type BoundedCount, boundedCount, countedMax, isoTime } from "./admin_pool.ts";

/** A dead letter in a list, without content. Times are ISO 8601, UTC. */
export interface ListedDeadLetter {
  readonly eventId: string;
  readonly kind: "lead" | "form";
  readonly tenant: string;
  readonly source: string;
  readonly receivedAt: string;
  readonly diedAt: string;
  readonly reason: string | null;
  readonly attemptsMade: number;
}

/** Selects dead letters; a member that is `null` selects all. */
export interface DeadFilter {
  readonly tenantId: number | null;
  /** The key's label. */
  readonly source: string | null;
  /** A part of the reason, such as `http_503`, ignoring case. */
  readonly reason: string | null;
  /** A kind of destination whose effect had failed at the last attempt. */
  readonly to: DestinationKind | null;
  /** The events received from this time on, and those received before that one; ISO 8601. */
  readonly since: string | null;
  readonly until: string | null;
}

/** The condition on dead letter d. */
function isSelected(sql: postgres.Sql, { tenantId, source, reason, to, since, until }: DeadFilter) {
  const idAt = (time: string) => sql`event_id_at(${time}::timestamptz)`;
  const conditions = [
    ...(tenantId === null ? [] : [sql`d.tenant_id = ${tenantId}`]),
    ...(source === null ? [] : [
      sql`exists (
        select from event as e join api_key as k on k.id = e.key_id
        where e.event_id = d.event_id and k.label = ${source}
      )`,
    ]),
    ...(reason === null ? [] : [sql`strpos(lower(d.reason), lower(${reason})) > 0`]),
    ...(to === null ? [] : [sql`d.reason ~ ${`(^|; )${to} (failed|waiting)`}`]),
    ...(since === null ? [] : [sql`d.event_id >= ${idAt(since)}`]),
    ...(until === null ? [] : [sql`d.event_id < ${idAt(until)}`]),
  ];
  return conditions.reduce((all, condition) => sql`${all} and ${condition}`, sql`true`);
}

/** Lists the selected dead letters, newest events first. */
export async function listDeadLetters(
  pool: Pool,
  { limit, ...filter }: DeadFilter & { readonly limit: number },
): Promise<ListedDeadLetter[]> {
  return await query(pool, (sql) =>
    sql<ListedDeadLetter[]>`
      select
        d.event_id as "eventId", e.kind, t.slug as tenant, k.label as source, d.reason,
        ${isoTime(sql, sql`e.received_at`)} as "receivedAt", ${isoTime(sql, sql`d.died_at`)} as "diedAt",
        (select count(*)::int from attempt as a where a.event_id = d.event_id and a.outcome <> 'marked') as "attemptsMade"
      from (
        select * from dead_letter as d where ${
      isSelected(sql, filter)
    } order by d.event_id desc limit ${limit}
      ) as d
      join event as e on e.event_id = d.event_id
      join tenant as t on t.id = d.tenant_id
      join api_key as k on k.id = e.key_id
      order by d.event_id desc`);
}

/** Replays and audits those of the events that are dead letters, and returns their ids. */
export async function replayDead(
  pool: Pool,
  eventIds: readonly string[],
  operator: string | null = null,
): Promise<string[]> {
  const rows = await query(pool, (sql) => {
    const ids = [...eventIds];
    const replayed = operator === null
      ? sql`replay_dead_as(${ids})`
      : sql`console_replay_dead(${ids}, ${operator})`;
    return sql<
      { event_id: string }[]
    >`select r.event_id from ${replayed} as r order by r.event_id collate "C"`;
  });
  return rows.map((row) => row.event_id);
}

// Bounds the rows that a replay locks in one statement, and the work that a failure undoes.
const batchRows = 1_000;

/** Reads the ids of the selected dead letters in batches, in ascending order, so that an event that dies again is not read twice. */
export async function* deadBatches(pool: Pool, filter: DeadFilter): AsyncGenerator<string[]> {
  for (let afterId = "";;) {
    const rows = await query(pool, (sql) =>
      sql<{ event_id: string }[]>`
        select d.event_id from dead_letter as d
        where d.event_id > ${afterId} and ${isSelected(sql, filter)}
        order by d.event_id limit ${batchRows}`);
    const ids = rows.map((row) => row.event_id);
    const last = ids.at(-1);
    if (last === undefined) return;
    yield ids;
    if (ids.length < batchRows) return;
    afterId = last;
  }
}

/** Counts the selected dead letters, up to {@linkcode countedMax}. */
export async function countDead(pool: Pool, filter: DeadFilter): Promise<BoundedCount> {
  const row = await queryOne(pool, (sql) =>
    sql<{ count: number }[]>`
      select count(*)::int from (
        select from dead_letter as d where ${isSelected(sql, filter)} limit ${countedMax + 1}
      ) as d`);
  return boundedCount(row?.count ?? 0);
}
