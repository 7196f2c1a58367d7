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

/** Lists the dead letters for one tenant or, with `null`, for all tenants, newest events first. */
export async function listDeadLetters(
  pool: Pool,
  filter: { readonly tenantId: number | null; readonly limit: number },
): Promise<ListedDeadLetter[]> {
  return await query(pool, (sql) => {
    const ofTenant = filter.tenantId === null ? sql`` : sql`where d.tenant_id = ${filter.tenantId}`;
    return sql<ListedDeadLetter[]>`
      select
        d.event_id as "eventId", e.kind, t.slug as tenant, k.label as source, d.reason,
        ${isoTime(sql, sql`e.received_at`)} as "receivedAt", ${isoTime(sql, sql`d.died_at`)} as "diedAt",
        (select count(*)::int from attempt as a where a.event_id = d.event_id) as "attemptsMade"
      from (
        select * from dead_letter as d ${ofTenant} order by d.event_id desc limit ${filter.limit}
      ) as d
      join event as e on e.event_id = d.event_id
      join tenant as t on t.id = d.tenant_id
      join api_key as k on k.id = e.key_id
      order by d.event_id desc`;
  });
}

/** Replays and audits those of the events that are dead letters, and returns their ids. */
export async function replayDead(
  pool: Pool,
  eventIds: readonly string[],
  address: string | null = null,
): Promise<string[]> {
  const rows = await query(pool, (sql) => {
    const ids = [...eventIds];
    const replayed = address === null
      ? sql`replay_dead_as(${ids})`
      : sql`console_replay_dead(${ids}, ${address})`;
    return sql<
      { event_id: string }[]
    >`select r.event_id from ${replayed} as r order by r.event_id collate "C"`;
  });
  return rows.map((row) => row.event_id);
}

// Bounds the rows that a replay locks in one statement, and the work that a failure undoes.
const batchRows = 1_000;

/** Reads the ids of dead letters in batches, in ascending order, so that an event that dies again is not read twice. */
export async function* deadBatches(pool: Pool, tenantId: number | null): AsyncGenerator<string[]> {
  for (let afterId = "";;) {
    const rows = await query(pool, (sql) =>
      sql<{ event_id: string }[]>`
        select d.event_id from dead_letter as d
        where d.event_id > ${afterId} ${tenantId === null ? sql`` : sql`and d.tenant_id = ${tenantId}`}
        order by d.event_id limit ${batchRows}`);
    const ids = rows.map((row) => row.event_id);
    const last = ids.at(-1);
    if (last === undefined) return;
    yield ids;
    if (ids.length < batchRows) return;
    afterId = last;
  }
}

/** Counts the dead letters for one tenant or, with `null`, for all tenants, up to {@linkcode countedMax}. */
export async function countDead(pool: Pool, tenantId: number | null): Promise<BoundedCount> {
  const row = await queryOne(pool, (sql) => {
    const ofTenant = tenantId === null ? sql`` : sql`where d.tenant_id = ${tenantId}`;
    return sql<{ count: number }[]>`
      select count(*)::int from (select from dead_letter as d ${ofTenant} limit ${countedMax + 1}) as d`;
  });
  return boundedCount(row?.count ?? 0);
}
