/**
 * Stored events, as the operator lists and shows them.
 *
 * @module
 */

import type { SubmissionVerdict } from "../serving/accept.ts";
import type { Pool } from "../pool.ts";
import { type Delivery, type DeliveryState, readDeliveries, readStates } from "./deliveries.ts";
import { adminDeadlineMs } from "./admin_pool.ts";
import { isoTime } from "./iso_time.ts";

/** What a list shows of an event: no content of the lead. */
export interface ListedEvent {
  readonly eventId: string;
  readonly kind: "lead" | "form";
  readonly tenant: string;
  /** The label of the key that posted it. */
  readonly source: string;
  /** ISO 8601, UTC, as the acknowledgement had it. */
  readonly receivedAt: string;
  readonly flags: readonly string[];
  readonly idempotencyKey: string | null;
  readonly state: DeliveryState;
}

/** What was found of a form submission. */
interface FoundSubmission {
  readonly formKey: string;
  readonly verdict: SubmissionVerdict;
  readonly score: number;
  /** Names only. */
  readonly reasons: readonly string[];
  /** When an operator has released it, ISO 8601, UTC. */
  readonly releasedAt: string | null;
  /** When an operator has left it held for good, ISO 8601, UTC. */
  readonly dismissedAt: string | null;
  /** The last four digits of the number that its fields hold. */
  readonly phoneEnd: string | null;
}

/** A collision and the event at its other side. */
export interface AcceptedCollision {
  readonly collision: string;
  readonly eventId: string;
}

/** A whole event. The three texts are `null` once its content is removed. */
export interface StoredEvent extends ListedEvent {
  /** By what and when (ISO 8601, UTC); `null` while the content is there. */
  readonly removed: { readonly by: "erasure" | "retention"; readonly at: string } | null;
  readonly delivery: Delivery;
  /** What it was accepted from by an operator; `null`: it was accepted as it came. */
  readonly acceptedFrom: AcceptedCollision | null;
  /** What came under its Idempotency-Key and was accepted as events of their own, the earliest first. */
  readonly acceptedBeside: readonly AcceptedCollision[];
  /** `null` for a lead. */
  readonly found: FoundSubmission | null;
  /** The text of the normalized lead's JSON. */
  readonly lead: string | null;
  /** The text of a JSON object, or `null` when there was nothing outside the envelope. */
  readonly extra: string | null;
  /** The body as posted. */
  readonly raw: string | null;
}

interface EventRow {
  event_id: string;
  kind: "lead" | "form";
  tenant: string;
  source: string;
  received_at: string;
  flags: string[];
  idempotency_key: string | null;
}

function listedEvent(row: EventRow, state: DeliveryState): ListedEvent {
  return {
    eventId: row.event_id,
    kind: row.kind,
    tenant: row.tenant,
    source: row.source,
    receivedAt: row.received_at,
    flags: row.flags,
    idempotencyKey: row.idempotency_key,
    state,
  };
}

/** Which events to list; `null` leaves a choice open. */
interface EventFilter {
  readonly tenantId: number | null;
  readonly kind: ListedEvent["kind"] | null;
  /** Only those received since then; ISO 8601. */
  readonly since: string | null;
  readonly limit: number;
}

/** Leads and form submissions, the newest first. It walks the primary key from its end: ids sort by acceptance. */
export async function listLeads(pool: Pool, filter: EventFilter): Promise<ListedEvent[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) => {
    const ofTenant = filter.tenantId === null ? sql`` : sql`and e.tenant_id = ${filter.tenantId}`;
    const ofKind = filter.kind === null ? sql`` : sql`and e.kind = ${filter.kind}`;
    const since = filter.since === null
      ? sql``
      : sql`and e.event_id >= event_id_at(${filter.since}::timestamptz)`;
    return sql<EventRow[]>`
      select
        e.event_id, e.kind, t.slug as tenant, k.label as source, e.flags, e.idempotency_key,
        to_char(e.received_at at time zone 'UTC', ${isoTime}) as received_at
      from (
        select * from event as e where true ${ofKind} ${ofTenant} ${since}
        order by e.event_id desc limit ${filter.limit}
      ) as e
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = e.key_id
      order by e.event_id desc`;
  });
  const states = await readStates(pool, rows.map((row) => row.event_id));
  return rows.map((row, index) => listedEvent(row, states[index] as DeliveryState));
}

// An event has seldom one.
const besideMax = 50;

interface ContentRow {
  lead: string | null;
  extra: string | null;
  raw: string | null;
  removed_by: "erasure" | "retention" | null;
  removed_at: Date | null;
  accepted_from: AcceptedCollision | null;
  accepted_beside: AcceptedCollision[];
  /** This and what follows: null for a lead. */
  form_key: string | null;
  verdict: SubmissionVerdict;
  score: number;
  reasons: string[];
  released_at: string | null;
  dismissed_at: string | null;
  phone_end: string | null;
}

function removal({ removed_by: by, removed_at: at }: ContentRow): StoredEvent["removed"] {
  return by === null || at === null ? null : { by, at: at.toISOString() };
}

function foundSubmission(row: ContentRow): FoundSubmission | null {
  if (row.form_key === null) return null;
  return {
    formKey: row.form_key,
    verdict: row.verdict,
    score: row.score,
    reasons: row.reasons,
    releasedAt: row.released_at,
    dismissedAt: row.dismissed_at,
    phoneEnd: row.phone_end,
  };
}

/**
 * The events with these ids; `null` in the place of one that does not exist. Without the body as posted, `raw` is
 * `null`: it may be as long as all else together.
 */
export async function readEvents(
  pool: Pool,
  eventIds: readonly string[],
  { withRaw }: { readonly withRaw: boolean } = { withRaw: true },
): Promise<(StoredEvent | null)[]> {
  const rows = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<(EventRow & ContentRow)[]>`
      select
        e.event_id, e.kind, t.slug as tenant, k.label as source, e.flags, e.idempotency_key,
        to_char(e.received_at at time zone 'UTC', ${isoTime}) as received_at,
        e.lead::text as lead, e.extra, ${
        withRaw ? sql`e.raw` : sql`null::text as raw`
      }, e.removed_by, e.removed_at,
        (
          select json_build_object('collision', c.id::text, 'eventId', c.event_id)
          from collision as c where c.accepted_event_id = e.event_id
        ) as accepted_from,
        (
          select coalesce(json_agg(
            json_build_object('collision', c.id::text, 'eventId', c.accepted_event_id) order by c.id
          ), '[]')
          from (
            select * from collision as c where c.event_id = e.event_id and c.accepted_event_id is not null
            order by c.id limit ${besideMax}
          ) as c
        ) as accepted_beside,
        f.form_key, s.verdict, s.score, s.reasons,
        to_char(s.released_at at time zone 'UTC', ${isoTime}) as released_at,
        case when e.lead is not null then to_char(s.dismissed_at at time zone 'UTC', ${isoTime}) end as dismissed_at,
        right(s.phone, 4) as phone_end
      from event as e
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = e.key_id
      left join submission as s on s.event_id = e.event_id
      left join form as f on f.id = s.form_id
      where e.event_id = any (${[...eventIds]}::text[])`,
  );
  const deliveries = await readDeliveries(pool, rows.map((row) => row.event_id));
  const events = new Map(
    rows.map((row, index) => {
      const delivery = deliveries[index] as Delivery;
      const { lead, extra, raw } = row;
      const found = foundSubmission(row);
      const removed = removal(row);
      return [
        row.event_id,
        {
          ...listedEvent(row, delivery.state),
          ...{ delivery, found, removed, lead, extra, raw },
          acceptedFrom: row.accepted_from,
          acceptedBeside: row.accepted_beside,
        },
      ];
    }),
  );
  return eventIds.map((id) => events.get(id) ?? null);
}
