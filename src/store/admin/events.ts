/**
 * Stored events, as the operator lists and shows them.
 *
 * @module
 */

import type { Pool } from "../sql.ts";
import { type Delivery, type DeliveryState, readDeliveries, readStates } from "./deliveries.ts";
import { adminDeadlineMs } from "./pool.ts";

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

/** A whole event. The three texts are `null` after an erasure. */
export interface StoredEvent extends ListedEvent {
  readonly delivery: Delivery;
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

/**
 * Leads, the newest first. It walks the primary key from its end: an id starts with 14 hexadecimal
 * digits, the microseconds since 1970.
 */
export async function listLeads(
  pool: Pool,
  filter: { readonly tenantId: number | null; readonly since: string | null; readonly limit: number },
): Promise<ListedEvent[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) => {
    const ofTenant = filter.tenantId === null ? sql`` : sql`and e.tenant_id = ${filter.tenantId}`;
    const since = filter.since === null ? sql`` : sql`and e.event_id >= lpad(
        to_hex((extract(epoch from ${filter.since}::timestamptz) * 1000000)::bigint), 14, '0')`;
    return sql<EventRow[]>`
      select
        e.event_id, e.kind, t.slug as tenant, k.label as source, e.flags, e.idempotency_key,
        to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as received_at
      from (
        select * from event as e where e.kind = 'lead' ${ofTenant} ${since}
        order by e.event_id desc limit ${filter.limit}
      ) as e
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = e.key_id
      order by e.event_id desc`;
  });
  const states = await readStates(pool, rows.map((row) => row.event_id));
  return rows.map((row, index) => listedEvent(row, states[index] as DeliveryState));
}

/** The events with these ids; `null` in the place of one that does not exist. */
export async function readEvents(
  pool: Pool,
  eventIds: readonly string[],
): Promise<(StoredEvent | null)[]> {
  const rows = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<(EventRow & { lead: string | null; extra: string | null; raw: string | null })[]>`
      select
        e.event_id, e.kind, t.slug as tenant, k.label as source, e.flags, e.idempotency_key,
        to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as received_at,
        e.lead::text as lead, e.extra, e.raw
      from event as e
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = e.key_id
      where e.event_id = any (${[...eventIds]}::text[])`,
  );
  const deliveries = await readDeliveries(pool, rows.map((row) => row.event_id));
  const events = new Map(
    rows.map((row, index) => {
      const delivery = deliveries[index] as Delivery;
      const { lead, extra, raw } = row;
      return [row.event_id, { ...listedEvent(row, delivery.state), delivery, lead, extra, raw }];
    }),
  );
  return eventIds.map((id) => events.get(id) ?? null);
}
