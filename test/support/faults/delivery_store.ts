/** Deliveries as the store has them, read past the service. */

import { type StoredEvent, withSql } from "./store.ts";

/** An attempt on record. */
export interface StoredAttempt {
  readonly eventId: string;
  readonly number: number;
  readonly outcome: "delivered" | "refused" | "unreachable" | "lost";
  readonly status: number | null;
  readonly reason: string | null;
  readonly spent: boolean;
  /** Milliseconds since 1970 on the database's clock. */
  readonly atMs: number;
}

/** An event with what is sent of it. */
export interface DeliverableEvent extends StoredEvent {
  readonly tenant: string;
  readonly source: string;
  readonly receivedAt: string;
  readonly flags: readonly string[];
  /** JSON as it is stored. */
  readonly lead: string;
  readonly extra: string | null;
}

/** All of it. */
export interface Deliveries {
  readonly events: readonly DeliverableEvent[];
  /** By event and in order. */
  readonly attempts: readonly StoredAttempt[];
  /** Event ids. */
  readonly outbox: readonly string[];
  readonly dead: readonly string[];
  /** As the running counts have it. */
  readonly counted: { readonly pending: number; readonly dead: number };
}

/** Reads it all, when nothing writes any more. */
export function readDeliveries(databaseUrl: string): Promise<Deliveries> {
  return withSql(databaseUrl, async (sql) => {
    const events = await sql<DeliverableEvent[]>`
      select e.event_id as "eventId", e.idempotency_key as "idempotencyKey", e.raw, null as campaign,
        0 as "costCents", t.slug as tenant, k.label as source, e.flags, e.lead::text as lead, e.extra,
        to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt"
      from event as e join tenant as t on t.id = e.tenant_id join api_key as k on k.id = e.key_id`;
    const attempts = await sql<StoredAttempt[]>`
      select event_id as "eventId", number, outcome, status, reason, spent,
        (extract(epoch from at) * 1000)::float8 as "atMs"
      from attempt order by event_id, number`;
    const outbox = await sql<{ id: string }[]>`select event_id as id from outbox`;
    const dead = await sql<{ id: string }[]>`select event_id as id from dead_letter`;
    const [counted] = await sql<{ pending: number; dead: number }[]>`
      select coalesce(sum(delta) filter (where state = 'pending'), 0)::int as pending,
        coalesce(sum(delta) filter (where state = 'dead'), 0)::int as dead
      from outbox_tally`;
    return {
      ...{ events, attempts },
      ...{ outbox: outbox.map((row) => row.id), dead: dead.map((row) => row.id) },
      counted: counted ?? { pending: 0, dead: 0 },
    };
  });
}

/** The attempts that are claimed and not settled now, as `event_id number`. */
export function readClaimed(databaseUrl: string): Promise<string[]> {
  return withSql(databaseUrl, async (sql) => {
    const rows = await sql<{ claimed: string }[]>`
      select event_id || ' ' || made as claimed from outbox where lease is not null`;
    return rows.map((row) => row.claimed);
  });
}

/** Moves the service's clock to this far from the real one. */
export function setClockOffset(databaseUrl: string, seconds: number): Promise<void> {
  return withSql(databaseUrl, async (sql) => {
    await sql.unsafe(
      `create or replace function service_clock() returns timestamptz language sql volatile parallel safe
       as $$ select clock_timestamp() + interval '${seconds} seconds' $$`,
    );
  });
}
