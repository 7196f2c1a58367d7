/**
 * The tables as they are, read with plain statements, and the service's own report.
 *
 * @module
 */

import type postgres from "postgres";
import type { StoredAttempt, StoredCollision, StoredEvent, Tables } from "./history.ts";

/** Reads all of them, when nothing writes any more. */
export async function readTables(sql: postgres.Sql, report: Tables["report"]): Promise<Tables> {
  const events = await sql<StoredEvent[]>`
    select e.event_id as "eventId", e.kind, t.slug as tenant, e.key_id as "keyId",
      (extract(epoch from e.received_at) * 1000)::float8 as "receivedAtMs",
      to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt",
      e.idempotency_key as "idempotencyKey", e.flags,
      coalesce(e.lead::text, '') as lead, e.extra, coalesce(e.raw, '') as raw, s.verdict, s.reasons,
      coalesce(c.phone, s.phone) as phone, coalesce(c.email, s.email) as email, coalesce(c.last_name, s.last_name) as "lastName"
    from event as e join tenant as t on t.id = e.tenant_id left join submission as s on s.event_id = e.event_id
      left join lead_contact as c on c.event_id = e.event_id
    order by e.event_id`;
  const attempts = await sql<StoredAttempt[]>`
    select event_id as "eventId", number, (extract(epoch from at) * 1000)::float8 as "atMs", outcome, status, reason, duration_ms as "durationMs", spent
    from attempt order by event_id, number`;
  const outbox = await sql<{ id: string }[]>`select event_id as id from outbox`;
  const dead = await sql<Tables["dead"][number][]>`select event_id as "eventId", reason from dead_letter`;
  const collisions = await sql<StoredCollision[]>`
    select event_id as "eventId", key_id as "keyId", flags, lead::text as lead, extra, raw, count::int as count
    from collision where raw is not null`;
  return { events, attempts, dead, collisions, report, outbox: outbox.map(({ id }) => id) };
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
