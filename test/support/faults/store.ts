/** Reads the store's contents directly. */

import { withSql } from "../database.ts";

/** An event and the parts of it that are checked. */
export interface StoredEvent {
  readonly eventId: string;
  readonly idempotencyKey: string | null;
  readonly raw: string;
  readonly campaign: string | null;
  /** 0 without a cost. */
  readonly costCents: number;
  readonly tenant: string;
  readonly source: string;
  readonly receivedAt: string;
  readonly flags: readonly string[];
  /** JSON as stored. */
  readonly lead: string;
  readonly extra: string | null;
}

/** A stored attempt. */
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

/** Everything about leads and their deliveries. */
export interface Store {
  readonly events: readonly StoredEvent[];
  /** Ordered by event and number. */
  readonly attempts: readonly StoredAttempt[];
  /** Event ids. */
  readonly outbox: readonly string[];
  readonly dead: readonly string[];
  /** The running counts. */
  readonly counted: { readonly pending: number; readonly dead: number };
  readonly campaigns: readonly { readonly slug: string; readonly spendCents: number }[];
}

/** Reads everything once nothing writes any more. */
export function readStore(databaseUrl: string): Promise<Store> {
  return withSql(databaseUrl, async (sql) => {
    const events = await sql<StoredEvent[]>`
      select e.event_id as "eventId", e.idempotency_key as "idempotencyKey", e.raw, c.slug as campaign,
        coalesce((e.lead ->> 'cost_cents')::int, 0) as "costCents", t.slug as tenant, k.label as source, e.flags,
        e.lead::text as lead, e.extra,
        to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt"
      from event as e
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = e.key_id
      left join campaign as c on c.id = k.campaign_id`;
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
    const campaigns = await sql<{ slug: string; spendCents: number }[]>`
      select c.slug, s.spend_cents::int as "spendCents"
      from campaign as c join campaign_spend as s on s.campaign_id = c.id`;
    return {
      events,
      attempts,
      campaigns,
      outbox: outbox.map((row) => row.id),
      dead: dead.map((row) => row.id),
      counted: counted ?? { pending: 0, dead: 0 },
    };
  });
}

/** Returns the claimed, unsettled attempts as `event_id number`. */
export function readClaimed(databaseUrl: string): Promise<string[]> {
  return withSql(databaseUrl, async (sql) => {
    const rows = await sql<{ claimed: string }[]>`
      select event_id || ' ' || made as claimed from outbox where lease is not null`;
    return rows.map((row) => row.claimed);
  });
}

/** Sets the offset of the service's clock. */
export function setClockOffset(databaseUrl: string, seconds: number): Promise<void> {
  return withSql(databaseUrl, async (sql) => {
    await sql.unsafe(
      `create or replace function service_clock() returns timestamptz language sql volatile parallel safe
       as $$ select clock_timestamp() + interval '${seconds} seconds' $$`,
    );
  });
}
