/**
 * The tables as they are, read with plain statements, and the service's own report.
 *
 * @module
 */

import type postgres from "postgres";
import type { StoredAttempt, StoredEvent, Tables } from "./history.ts";

/** Reads all of them, when nothing writes any more. */
export async function readTables(sql: postgres.Sql, report: Tables["report"]): Promise<Tables> {
  const events = await sql<StoredEvent[]>`
    select e.event_id as "eventId", e.kind, t.slug as tenant, e.key_id as "keyId",
      (extract(epoch from e.received_at) * 1000)::float8 as "receivedAtMs", e.idempotency_key as "idempotencyKey", e.flags,
      coalesce(e.lead::text, '') as lead, e.extra, coalesce(e.raw, '') as raw, s.verdict,
      coalesce(c.phone, s.phone) as phone, coalesce(c.email, s.email) as email, coalesce(c.last_name, s.last_name) as "lastName"
    from event as e join tenant as t on t.id = e.tenant_id left join submission as s on s.event_id = e.event_id
      left join lead_contact as c on c.event_id = e.event_id
    order by e.event_id`;
  const attempts = await sql<StoredAttempt[]>`
    select event_id as "eventId", number, outcome, status, reason, duration_ms as "durationMs", spent
    from attempt order by event_id, number`;
  const outbox = await sql<{ id: string }[]>`select event_id as id from outbox`;
  const dead = await sql<Tables["dead"][number][]>`select event_id as "eventId", reason from dead_letter`;
  const [tally] = await sql<Tables["tally"][]>`
    select coalesce(sum(delta) filter (where state = 'pending'), 0)::int as pending,
      coalesce(sum(delta) filter (where state = 'dead'), 0)::int as dead
    from outbox_tally`;
  const spend = await sql<{ name: string; count: number }[]>`
    select c.slug as name, coalesce((select sum(h.cents) from campaign_charge as h where h.campaign_id = c.id), 0)::int as count
    from campaign as c`;
  const collisions = await sql<{ eventId: string }[]>`select event_id as "eventId" from collision`;
  const repeats = await sql<{ name: number; count: number }[]>`
    select key_id as name, sum(count)::int as count from duplicate_total group by key_id`;
  const byName = (rows: readonly { readonly name: string | number; readonly count: number }[]) =>
    Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  return {
    ...{ events, attempts, dead, collisions, report, tally: tally ?? { pending: 0, dead: 0 } },
    ...{ outbox: outbox.map(({ id }) => id), spendCents: byName(spend), duplicates: byName(repeats) },
  };
}

/** What a service process reports of those days; `null` without an answer. */
export async function askReport(opsPort: number, days: readonly string[]): Promise<Tables["report"]> {
  const sum = { accepted: 0, spendCents: 0 };
  for (const day of days) {
    const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
    const url = `http://127.0.0.1:${opsPort}/v1/report?since=${day}T00:00:00Z&until=${next}T00:00:00Z`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(20_000) }).catch(() => null);
    if (!answer?.ok) return null;
    for (const row of (await answer.json()).rows) {
      sum.accepted += row.accepted;
      sum.spendCents += row.spend_cents;
    }
  }
  return sum;
}
