import type postgres from "postgres";
import { type BoundedCount, boundedCount, countedMax, isoTime } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";

/** A tenant's pending and dead events, and whether the tenant has a route. Times are ISO 8601, UTC. */
export interface TenantBacklog {
  readonly tenant: string;
  readonly sandbox: boolean;
  readonly hasRoute: boolean;
  /** Whether all its deliveries are paused. */
  readonly isPaused: boolean;
  readonly waiting: BoundedCount;
  /** How many of the counted pending events had no route at their last attempt. */
  readonly unrouted: number;
  readonly dueSince: string | null;
  readonly dead: BoundedCount;
}

const tenantsMax = 200;

/** Reads the tenants with pending or dead events and the live tenants without a route, most dead events first. */
export async function readBacklogs(pool: Pool): Promise<TenantBacklog[]> {
  return await selectBacklogs(
    pool,
    (sql) => sql`w.count > 0 or d.count > 0 or not (t.sandbox or t.has_route)`,
  );
}

/** Reads a tenant's pending and dead events. */
export async function readBacklog(pool: Pool, tenantId: number): Promise<TenantBacklog | null> {
  return (await selectBacklogs(pool, (sql) => sql`t.id = ${tenantId}`))[0] ?? null;
}

async function selectBacklogs(
  pool: Pool,
  where: (sql: postgres.Sql) => postgres.PendingQuery<postgres.Row[]>,
): Promise<TenantBacklog[]> {
  const rows = await query(
    pool,
    (sql) =>
      sql<(Omit<TenantBacklog, "waiting" | "dead"> & { readonly waiting: number; readonly dead: number })[]>`
      select
        t.slug as tenant, t.sandbox, t.has_route as "hasRoute", t.paused_at is not null as "isPaused", w.count as waiting, w.unrouted, d.count as dead,
        ${isoTime(sql, sql`w.due_at`)} as "dueSince"
      from tenant as t
      cross join lateral (
        select count(*)::int, min(o.due_at) as due_at,
          count(*) filter (where o.reason = 'no_route')::int as unrouted
        from (
          select o.due_at, o.reason from outbox as o where o.tenant_id = t.id order by o.due_at limit ${
        countedMax + 1
      }
        ) as o
      ) as w
      cross join lateral (
        select count(*)::int from (
          select from dead_letter as d where d.tenant_id = t.id limit ${countedMax + 1}
        ) as d
      ) as d
      where ${where(sql)}
      order by d.count desc, w.count desc, t.slug
      limit ${tenantsMax}`,
  );
  return rows.map((row) => ({ ...row, waiting: boundedCount(row.waiting), dead: boundedCount(row.dead) }));
}

export interface OldestWaiting {
  readonly eventId: string;
  readonly tenant: string;
  /** ISO 8601, UTC. */
  readonly receivedAt: string;
  readonly reason: string | null;
}

/** Finds the oldest event in the outbox that waits neither for its tenant's first route nor for the end of a pause. */
export async function readOldestWaiting(pool: Pool): Promise<OldestWaiting | null> {
  return await queryOne(pool, (sql) =>
    sql<OldestWaiting[]>`
      select
        o.event_id as "eventId", t.slug as tenant, o.reason, ${
      isoTime(sql, sql`e.received_at`)
    } as "receivedAt"
      from oldest_waiting(${countedMax}) as o
      join tenant as t on t.id = o.tenant_id
      join event as e on e.event_id = o.event_id`);
}
