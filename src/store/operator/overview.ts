/**
 * What the console's overview reads of all tenants.
 *
 * @module
 */

import { adminDeadlineMs, type Bounded, bounded, countedMax, isoTime } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";

/** What stands in a tenant's way. Times are ISO 8601, UTC. */
export interface TenantStanding {
  readonly tenant: string;
  readonly sandbox: boolean;
  readonly hasRoute: boolean;
  readonly waiting: Bounded;
  /** Among those counted: what none of the tenant's routes takes. */
  readonly unrouted: number;
  /** When what is due longest was due. */
  readonly dueSince: string | null;
  readonly dead: Bounded;
}

// A page lists no more tenants than this.
const tenantsMax = 200;

/** The tenants that have something waiting or dead, and the live ones without a route; most dead first. */
export async function readStandings(pool: Pool): Promise<TenantStanding[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql<
      {
        tenant: string;
        sandbox: boolean;
        has_route: boolean;
        waiting: number;
        unrouted: number;
        due_since: string | null;
        dead: number;
      }[]
    >`
      select
        t.slug as tenant, t.sandbox, t.has_route, w.count as waiting, w.unrouted, d.count as dead,
        to_char(w.due_at at time zone 'UTC', ${isoTime}) as due_since
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
      where w.count > 0 or d.count > 0 or not (t.sandbox or t.has_route)
      order by d.count desc, w.count desc, t.slug
      limit ${tenantsMax}`);
  return rows.map((row) => ({
    tenant: row.tenant,
    sandbox: row.sandbox,
    hasRoute: row.has_route,
    waiting: bounded(row.waiting),
    unrouted: row.unrouted,
    dueSince: row.due_since,
    dead: bounded(row.dead),
  }));
}

/** What waits longest of the tenants that have somewhere to send to. */
export interface OldestWaiting {
  readonly eventId: string;
  readonly tenant: string;
  /** ISO 8601, UTC. */
  readonly receivedAt: string;
  readonly reason: string | null;
}

/**
 * The oldest event of the outbox whose tenant has a route or needs none; `null` when there is none among the oldest
 * ten thousand.
 */
export async function readOldestWaiting(pool: Pool): Promise<OldestWaiting | null> {
  const [row] = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<{ event_id: string; tenant: string; received_at: string; reason: string | null }[]>`
      select o.event_id, t.slug as tenant, o.reason, to_char(e.received_at at time zone 'UTC', ${isoTime}) as received_at
      from (
        select o.event_id, o.tenant_id, o.reason from outbox as o order by o.event_id limit ${countedMax}
      ) as o
      join tenant as t on t.id = o.tenant_id and (t.sandbox or t.has_route)
      join event as e on e.event_id = o.event_id
      order by o.event_id
      limit 1`,
  );
  if (row === undefined) return null;
  return { eventId: row.event_id, tenant: row.tenant, receivedAt: row.received_at, reason: row.reason };
}
