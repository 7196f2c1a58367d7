/**
 * Other leads that arrived under a used Idempotency-Key, as the operator sees them.
 *
 * @module
 */

import type { Pool } from "../pool.ts";
import { adminDeadlineMs } from "./admin_pool.ts";
import { isoTime } from "./iso_time.ts";

/** What a list shows of a collision. Times are ISO 8601, UTC. */
export interface ListedCollision {
  readonly id: string;
  /** The event that has the Idempotency-Key. */
  readonly eventId: string;
  readonly kind: "lead" | "form";
  readonly tenant: string;
  /** The label of the key that posted what was kept aside. */
  readonly source: string;
  readonly idempotencyKey: string | null;
  /** How often the same content was posted. */
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
}

/** A stored lead or submission as JSON text; `null` after an erasure. */
interface StoredContent {
  readonly lead: string | null;
  /** `null` when there was nothing outside the envelope. */
  readonly extra: string | null;
}

/** A collision, and the event that it was not stored for. */
export interface StoredCollision extends ListedCollision, StoredContent {
  /** The body as posted. */
  readonly raw: string | null;
  readonly accepted: StoredContent & { readonly source: string; readonly receivedAt: string };
}

interface CollisionRow {
  id: string;
  event_id: string;
  kind: "lead" | "form";
  tenant: string;
  source: string;
  idempotency_key: string | null;
  count: string;
  first_at: Date;
  last_at: Date;
}

function listedCollision(row: CollisionRow): ListedCollision {
  return {
    id: row.id,
    eventId: row.event_id,
    kind: row.kind,
    tenant: row.tenant,
    source: row.source,
    idempotencyKey: row.idempotency_key,
    count: Number(row.count),
    firstAt: row.first_at.toISOString(),
    lastAt: row.last_at.toISOString(),
  };
}

/** Collisions of one tenant or, with `null`, of all; the newest first. */
export async function listCollisions(
  pool: Pool,
  filter: { readonly tenantId: number | null; readonly limit: number },
): Promise<ListedCollision[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql<CollisionRow[]>`
      select
        c.id, c.event_id, e.kind, t.slug as tenant, k.label as source, e.idempotency_key, c.count, c.first_at,
        c.last_at
      from collision as c
      join event as e on e.event_id = c.event_id
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = c.key_id
      where ${filter.tenantId}::int is null or e.tenant_id = ${filter.tenantId}
      order by c.id desc
      limit ${filter.limit}`);
  return rows.map(listedCollision);
}

/** The collision with this id, or `null`. */
export async function readCollision(pool: Pool, id: string): Promise<StoredCollision | null> {
  const [row] = await pool.run(adminDeadlineMs, (sql) =>
    sql<
      (CollisionRow & {
        lead: string | null;
        extra: string | null;
        raw: string | null;
        accepted_lead: string | null;
        accepted_extra: string | null;
        accepted_source: string;
        received_at: string;
      })[]
    >`
      select
        c.id, c.event_id, e.kind, t.slug as tenant, k.label as source, e.idempotency_key, c.count, c.first_at,
        c.last_at, c.lead::text as lead, c.extra, c.raw, e.lead::text as accepted_lead,
        e.extra as accepted_extra, f.label as accepted_source,
        to_char(e.received_at at time zone 'UTC', ${isoTime}) as received_at
      from collision as c
      join event as e on e.event_id = c.event_id
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = c.key_id
      join api_key as f on f.id = e.key_id
      where c.id = ${id}::bigint`);
  if (row === undefined) return null;
  return {
    ...listedCollision(row),
    lead: row.lead,
    extra: row.extra,
    raw: row.raw,
    accepted: {
      source: row.accepted_source,
      receivedAt: row.received_at,
      lead: row.accepted_lead,
      extra: row.accepted_extra,
    },
  };
}
