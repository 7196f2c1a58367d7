/**
 * What only the console's pages read and do, each in one statement. Everything an operator does leaves its audit row in
 * the transaction that does it.
 *
 * @module
 */

import { adminDeadlineMs } from "./pool.ts";
import type { Pool } from "../pool.ts";

/** A number that was counted up to a bound. */
export interface Bounded {
  readonly count: number;
  /** There are more. */
  readonly isMore: boolean;
}

// Bounds what the overview reads of a backlog; a page says "10,000+" beyond it.
const countedMax = 10_000;

function bounded(count: number): Bounded {
  return { count: Math.min(count, countedMax), isMore: count > countedMax };
}

/** What stands in a tenant's way. Times are ISO 8601, UTC. */
export interface TenantStanding {
  readonly tenant: string;
  readonly sandbox: boolean;
  readonly hasRoute: boolean;
  readonly waiting: Bounded;
  /** When what is due longest was due. */
  readonly dueSince: string | null;
  readonly dead: Bounded;
}

const iso = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
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
        due_since: string | null;
        dead: number;
      }[]
    >`
      select
        t.slug as tenant, t.sandbox, t.has_route, w.count as waiting, d.count as dead,
        to_char(w.due_at at time zone 'UTC', ${iso}) as due_since
      from tenant as t
      cross join lateral (
        select count(*)::int, min(o.due_at) as due_at from (
          select o.due_at from outbox as o where o.tenant_id = t.id order by o.due_at limit ${countedMax + 1}
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
    dueSince: row.due_since,
    dead: bounded(row.dead),
  }));
}

/** How many dead letters there are, of one tenant or of all, counted up to a bound. */
export async function countDead(pool: Pool, tenantId: number | null): Promise<Bounded> {
  const [row] = await pool.run(adminDeadlineMs, (sql) => {
    const ofTenant = tenantId === null ? sql`` : sql`where d.tenant_id = ${tenantId}`;
    return sql<{ count: number }[]>`
      select count(*)::int from (select from dead_letter as d ${ofTenant} limit ${countedMax + 1}) as d`;
  });
  return bounded(row?.count ?? 0);
}

/** Who posted an event, and what lies beside it. Times are ISO 8601, UTC. */
export interface EventSurroundings {
  readonly keyId: string;
  readonly last4: string;
  readonly keyRevokedAt: string | null;
  readonly sandbox: boolean;
  readonly hasRoute: boolean;
  /** `k`, `K`: by its Idempotency-Key; `c`, `C`: by its content. */
  readonly dedupeSpace: string;
  /** When its content went, and by what. */
  readonly removed: { readonly at: string; readonly by: "erasure" | "retention" } | null;
  /** The newest first. */
  readonly collisions: readonly { readonly id: string; readonly firstAt: string; readonly count: number }[];
}

// An event has seldom more than one.
const collisionsMax = 50;

/** What lies beside an event, or `null` when there is no such event. */
export async function readSurroundings(pool: Pool, eventId: string): Promise<EventSurroundings | null> {
  const [row] = await pool.run(adminDeadlineMs, (sql) =>
    sql<
      {
        key_id: number;
        last4: string;
        revoked_at: string | null;
        sandbox: boolean;
        has_route: boolean;
        dedupe_space: string;
        removed_at: string | null;
        removed_by: "erasure" | "retention" | null;
        collisions: { id: string; firstAt: string; count: number }[];
      }[]
    >`
      select
        k.id as key_id, k.last4, t.sandbox, t.has_route, e.dedupe_space::text, e.removed_by,
        to_char(e.removed_at at time zone 'UTC', ${iso}) as removed_at,
        to_char(k.revoked_at at time zone 'UTC', ${iso}) as revoked_at,
        coalesce(
          (
            select json_agg(
              json_build_object(
                'id', c.id::text, 'firstAt', to_char(c.first_at at time zone 'UTC', ${iso}), 'count', c.count
              )
              order by c.id desc
            )
            from (
              select * from collision as c where c.event_id = e.event_id order by c.id desc limit ${collisionsMax}
            ) as c
          ),
          '[]'
        ) as collisions
      from event as e
      join api_key as k on k.id = e.key_id
      join tenant as t on t.id = e.tenant_id
      where e.event_id = ${eventId}`);
  if (row === undefined) return null;
  return {
    keyId: String(row.key_id),
    last4: row.last4,
    keyRevokedAt: row.revoked_at,
    sandbox: row.sandbox,
    hasRoute: row.has_route,
    dedupeSpace: row.dedupe_space,
    removed: row.removed_at === null || row.removed_by === null
      ? null
      : { at: row.removed_at, by: row.removed_by },
    collisions: row.collisions,
  };
}

/**
 * How many submissions are held, of one tenant or of all, counted up to a bound. One that was erased or has expired is
 * held no more; only the newest are looked at, because those of them that have expired are the oldest.
 */
export async function countHeld(pool: Pool, tenantId: number | null): Promise<Bounded> {
  const [row] = await pool.run(adminDeadlineMs, (sql) => {
    const ofTenant = tenantId === null ? sql`` : sql`and s.tenant_id = ${tenantId}`;
    return sql<{ count: number }[]>`
      select count(*)::int from (
        select s.event_id from submission as s
        where s.verdict <> 'clean' and s.released_at is null ${ofTenant}
        order by s.event_id desc limit ${countedMax + 1}
      ) as s
      where exists (select from event as e where e.event_id = s.event_id and e.removed_at is null offset 0)`;
  });
  return bounded(row?.count ?? 0);
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
      select o.event_id, t.slug as tenant, o.reason, to_char(e.received_at at time zone 'UTC', ${iso}) as received_at
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
