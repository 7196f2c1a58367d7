/** The store's contents as the tests check them, read past the service. */

import postgres from "postgres";

/** An event with what is checked of it. */
export interface StoredEvent {
  readonly eventId: string;
  readonly idempotencyKey: string | null;
  readonly raw: string;
  readonly campaign: string | null;
  /** 0 when it had none. */
  readonly costCents: number;
}

/** Everything that one transaction writes. */
export interface Store {
  readonly events: readonly StoredEvent[];
  /** Event ids. */
  readonly outbox: readonly string[];
  /** As the running count has it. */
  readonly pending: number;
  readonly campaigns: readonly { readonly slug: string; readonly spendCents: number }[];
}

/** Runs statements on one connection of its own. */
export async function withSql<T>(databaseUrl: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Reads it all in one statement each, when nothing writes any more. */
export function readStore(databaseUrl: string): Promise<Store> {
  return withSql(databaseUrl, async (sql) => {
    const events = await sql<StoredEvent[]>`
      select e.event_id as "eventId", e.idempotency_key as "idempotencyKey", e.raw, c.slug as campaign,
        coalesce((e.lead ->> 'cost_cents')::int, 0) as "costCents"
      from event as e
      join api_key as k on k.id = e.key_id
      left join campaign as c on c.id = k.campaign_id`;
    const outbox = await sql<{ event_id: string }[]>`select event_id from outbox`;
    const [tally] = await sql<{ pending: number }[]>`
      select coalesce(sum(delta), 0)::int as pending from outbox_tally where state = 'pending'`;
    const campaigns = await sql<{ slug: string; spendCents: number }[]>`
      select c.slug, s.spend_cents::int as "spendCents"
      from campaign as c join campaign_spend as s on s.campaign_id = c.id`;
    return { events, outbox: outbox.map((row) => row.event_id), pending: tally?.pending ?? 0, campaigns };
  });
}
