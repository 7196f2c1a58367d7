/**
 * Other leads that arrived under a used Idempotency-Key, as the operator sees them.
 *
 * @module
 */

import type { Pool } from "../pool.ts";
import { adminDeadlineMs, countedMax, isoTime } from "./admin_pool.ts";

/** What has become of a collision: `open` until somebody accepts or dismisses it, or its content goes. */
export type CollisionState = "open" | "accepted" | "dismissed" | "erased";

/** What a list shows of a collision. Times are ISO 8601, UTC. */
export interface ListedCollision {
  readonly id: string;
  readonly state: CollisionState;
  /** Phone or email are others than the event's: somebody may be lost. */
  readonly isOtherPerson: boolean;
  /** When it was accepted or dismissed, or its content went; `null` while it is open. */
  readonly settledAt: string | null;
  /** The event that it became; `null` unless accepted. */
  readonly acceptedEventId: string | null;
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

/** A stored lead or submission as JSON text; `null` after an erasure. Of an accepted one it is its event's. */
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
  other_person: boolean;
  settled_at: Date | null;
  accepted_event_id: string | null;
  has_digest: boolean;
}

function stateOf(row: CollisionRow): CollisionState {
  if (row.settled_at === null) return "open";
  return !row.has_digest ? "erased" : row.accepted_event_id === null ? "dismissed" : "accepted";
}

function listedCollision(row: CollisionRow): ListedCollision {
  return {
    id: row.id,
    state: stateOf(row),
    isOtherPerson: row.other_person,
    settledAt: row.settled_at?.toISOString() ?? null,
    acceptedEventId: row.accepted_event_id,
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

/** Which collisions to list. */
interface CollisionFilter {
  /** Of one tenant or, with `null`, of all. */
  readonly tenantId: number | null;
  readonly isOpen: boolean;
  /** Only those of another person than the event's. */
  readonly isOtherPerson: boolean;
  readonly limit: number;
}

/** Collisions, the newest first. */
export async function listCollisions(
  pool: Pool,
  { tenantId, isOpen, isOtherPerson, limit }: CollisionFilter,
): Promise<ListedCollision[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql<CollisionRow[]>`
      select
        c.id, c.event_id, e.kind, t.slug as tenant, k.label as source, e.idempotency_key, c.count, c.first_at,
        c.last_at, c.other_person, c.settled_at, c.accepted_event_id, c.content_digest is not null as has_digest
      from collision as c
      join event as e on e.event_id = c.event_id
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = c.key_id
      where true ${tenantId === null ? sql`` : sql`and e.tenant_id = ${tenantId}`}
        ${isOpen ? sql`and c.settled_at is null` : sql``} ${isOtherPerson ? sql`and c.other_person` : sql``}
      order by c.id desc
      limit ${limit}`);
  return rows.map(listedCollision);
}

/** Of whom a lead of another person's waits for an operator, how many, and the newest. */
export interface OpenCollisions {
  readonly tenant: string;
  /** The label of the key that posted them. */
  readonly source: string;
  readonly count: number;
  readonly newestId: string;
}

/** The collisions that want a person, by tenant and source, most first; the newest ten thousand of them are counted. */
export async function readOpenCollisions(pool: Pool): Promise<OpenCollisions[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql<OpenCollisions[]>`
      select t.slug as tenant, k.label as source, count(*)::int as count, max(c.id)::text as "newestId"
      from (
        select c.id, c.key_id from collision as c where c.other_person and c.settled_at is null
        order by c.id desc limit ${countedMax}
      ) as c
      join api_key as k on k.id = c.key_id
      join tenant as t on t.id = k.tenant_id
      group by t.slug, k.label
      order by count(*) desc, t.slug, k.label`);
  return rows.map((row) => ({ ...row }));
}

/**
 * What became of an acceptance. `already`: it is that event; `erased`: nothing is left of it; `busy`: somebody is being
 * erased at this moment, or its key revoked; `unknown`: there is no such collision.
 */
export type CollisionAcceptance =
  | { readonly kind: "accepted" | "already"; readonly eventId: string }
  | { readonly kind: "erased" | "busy" | "unknown" };

/**
 * Makes an event of its own of a collision, and notes it in the audit, in the same transaction. `address` is where the
 * console was asked from, `null` for the operator's command. Throws what {@linkcode Pool.run} throws.
 *
 * Source: DECISIONS, Decided since (A collision accepted by an operator).
 */
export async function acceptCollision(
  pool: Pool,
  id: string,
  address: string | null,
): Promise<CollisionAcceptance> {
  const [row] = await pool.run(adminDeadlineMs, (sql) => {
    const accept = address === null
      ? sql`accept_collision(${id}::bigint)`
      : sql`console_accept_collision(${id}::bigint, ${address})`;
    return sql<{ outcome: CollisionAcceptance["kind"]; event_id: string | null }[]>`select * from ${accept}`;
  });
  if (row === undefined) return { kind: "unknown" };
  const { outcome: kind, event_id: eventId } = row;
  return kind === "accepted" || kind === "already" ? { kind, eventId: eventId ?? "" } : { kind };
}

/** What became of a dismissal; `already`: somebody has settled it, or its content is gone. */
export type CollisionDismissal = "dismissed" | "already" | "unknown";

/** Takes a collision off those that want a person, and notes it in the audit; `address` as in {@linkcode acceptCollision}. */
export async function dismissCollision(
  pool: Pool,
  id: string,
  address: string | null,
): Promise<CollisionDismissal> {
  const [row] = await pool.run(adminDeadlineMs, (sql) => {
    const dismiss = address === null
      ? sql`dismiss_collision(${id}::bigint)`
      : sql`console_dismiss_collision(${id}::bigint, ${address})`;
    return sql<{ dismissal: CollisionDismissal }[]>`select ${dismiss} as dismissal`;
  });
  return row?.dismissal ?? "unknown";
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
        c.last_at, c.other_person, c.settled_at, c.accepted_event_id, c.content_digest is not null as has_digest,
        coalesce(c.lead, a.lead)::text as lead, coalesce(c.extra, a.extra) as extra, coalesce(c.raw, a.raw) as raw,
        e.lead::text as accepted_lead,
        e.extra as accepted_extra, f.label as accepted_source,
        to_char(e.received_at at time zone 'UTC', ${isoTime}) as received_at
      from collision as c
      join event as e on e.event_id = c.event_id
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = c.key_id
      join api_key as f on f.id = e.key_id
      left join event as a on a.event_id = c.accepted_event_id
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
