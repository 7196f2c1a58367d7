/** Reads and settles collisions: leads and submissions posted with the Idempotency-Key of an event with other content. */

import type postgres from "postgres";
import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";
import { countedMax, isoTime, operatorCall, runOperatorCall } from "./admin_pool.ts";

/** A collision is `open` until an operator settles it or its content is removed. */
type CollisionState = "open" | "accepted" | "dismissed" | "erased";

/** A collision in a list. Times are ISO 8601, UTC. */
export interface ListedCollision {
  readonly id: string;
  readonly state: CollisionState;
  /** Whether the phone or email differs from the event's, or neither can be compared, so that a lead may be lost. */
  readonly otherPerson: boolean;
  /** When the collision was accepted or dismissed, or when its content was removed. */
  readonly settledAt: string | null;
  /** The event that an accepted collision became. */
  readonly acceptedEventId: string | null;
  /** The event that has the Idempotency-Key. */
  readonly eventId: string;
  readonly kind: "lead" | "form";
  readonly tenant: string;
  readonly source: string;
  readonly idempotencyKey: string | null;
  /** The number of posts with this content. */
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
}

/** A lead or submission as JSON text; `null` after its content was removed. */
interface StoredContent {
  readonly lead: string | null;
  /** `null` if there were no fields outside the envelope. */
  readonly extra: string | null;
}

/** A collision and, in `accepted`, the event that has its Idempotency-Key. */
export interface StoredCollision extends ListedCollision, StoredContent {
  readonly raw: string | null;
  readonly accepted: StoredContent & { readonly source: string; readonly receivedAt: string };
}

// The columns of a ListedCollision, from collision c, its event e, its tenant t, and the key k with which it was posted.
const listedColumns = (sql: postgres.Sql) =>
  sql`c.id, c.event_id as "eventId", e.kind, t.slug as tenant, k.label as source,
    e.idempotency_key as "idempotencyKey", c.count::float8 as count, c.other_person as "otherPerson",
    c.accepted_event_id as "acceptedEventId", ${isoTime(sql, sql`c.first_at`)} as "firstAt",
    ${isoTime(sql, sql`c.last_at`)} as "lastAt", ${isoTime(sql, sql`c.settled_at`)} as "settledAt",
    case
      when c.settled_at is null then 'open'
      when c.content_digest is null then 'erased'
      when c.accepted_event_id is null then 'dismissed'
      else 'accepted'
    end as state`;

interface CollisionFilter {
  /** `null`: all tenants. */
  readonly tenantId: number | null;
  readonly isOpen: boolean;
  /** Whether to select only collisions for which `otherPerson` is true. */
  readonly otherPerson: boolean;
  readonly limit: number;
}

/** Lists collisions, newest first. */
export async function listCollisions(
  pool: Pool,
  { tenantId, isOpen, otherPerson, limit }: CollisionFilter,
): Promise<ListedCollision[]> {
  return await query(pool, (sql) =>
    sql<ListedCollision[]>`
      select ${listedColumns(sql)}
      from collision as c
      join event as e on e.event_id = c.event_id
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = c.key_id
      where true ${tenantId === null ? sql`` : sql`and e.tenant_id = ${tenantId}`}
        ${isOpen ? sql`and c.settled_at is null` : sql``} ${otherPerson ? sql`and c.other_person` : sql``}
      order by c.id desc
      limit ${limit}`);
}

/** Returns the collisions with these ids and those of these events, newest first. */
export async function findCollisions(
  pool: Pool,
  { ids, eventIds, limit }: {
    readonly ids: readonly string[];
    readonly eventIds: readonly string[];
    readonly limit: number;
  },
): Promise<ListedCollision[]> {
  return await query(pool, (sql) =>
    sql<ListedCollision[]>`
      select ${listedColumns(sql)}
      from (
        select c.id from collision as c where c.id = any (${[...ids]}::bigint[])
        union
        select c.id from unnest(${[...eventIds]}::text[]) as i (event_id)
        cross join lateral (
          select c.id from collision as c where c.event_id = i.event_id collate "C" order by c.id desc limit ${limit}
        ) as c
      ) as i
      join collision as c on c.id = i.id
      join event as e on e.event_id = c.event_id
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = c.key_id
      order by c.id desc
      limit ${limit}`);
}

export interface OpenCollisions {
  readonly tenant: string;
  readonly source: string;
  readonly count: number;
  readonly newestId: string;
}

/** Counts the newest ten thousand open collisions with another person's event by tenant and source, highest count first. */
export async function readOpenCollisions(pool: Pool): Promise<OpenCollisions[]> {
  return await query(pool, (sql) =>
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
}

/** `busy`: an erasure or a revocation of the collision's key is in progress; retry. `unknown`: no such collision. */
type CollisionAcceptance =
  | { readonly kind: "accepted" | "already"; readonly eventId: string }
  | { readonly kind: "erased" | "busy" | "unknown" };

/**
 * Accepts a collision as an event and audits it. `operator` is the console operator's name, `null` for ctl.
 *
 * Source: DECISIONS, Decided since (A collision accepted by an operator).
 */
export async function acceptCollision(
  pool: Pool,
  id: string,
  operator: string | null,
): Promise<CollisionAcceptance> {
  const row = await queryOne(pool, (sql) => {
    const accept = operatorCall(sql, operator, "accept_collision", sql`${id}::bigint`);
    return sql<{ outcome: CollisionAcceptance["kind"]; event_id: string | null }[]>`select * from ${accept}`;
  });
  if (row === null) return { kind: "unknown" };
  const { outcome: kind, event_id: eventId } = row;
  return kind === "accepted" || kind === "already" ? { kind, eventId: eventId ?? "" } : { kind };
}

/** `already`: the collision was settled before, or its content was removed. */
type CollisionDismissal = "dismissed" | "already" | "unknown";

/** Dismisses a collision and audits it; `operator` as in {@linkcode acceptCollision}. */
export async function dismissCollision(
  pool: Pool,
  id: string,
  operator: string | null,
): Promise<CollisionDismissal> {
  return await runOperatorCall(pool, operator, "dismiss_collision", (sql) => sql`${id}::bigint`);
}

/** Reads a collision. If it was accepted, its content is read from the event that it became. */
export async function readCollision(pool: Pool, id: string): Promise<StoredCollision | null> {
  return await queryOne(pool, (sql) =>
    sql<StoredCollision[]>`
      select
        ${listedColumns(sql)}, coalesce(c.lead, a.lead)::text as lead, coalesce(c.extra, a.extra) as extra,
        coalesce(c.raw, a.raw) as raw,
        json_build_object(
          'source', f.label, 'receivedAt', ${
      isoTime(sql, sql`e.received_at`)
    }, 'lead', e.lead::text, 'extra', e.extra
        ) as accepted
      from collision as c
      join event as e on e.event_id = c.event_id
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = c.key_id
      join api_key as f on f.id = e.key_id
      left join event as a on a.event_id = c.accepted_event_id
      where c.id = ${id}::bigint`);
}
