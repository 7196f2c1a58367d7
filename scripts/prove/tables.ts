/**
 * Reads the tables with plain SQL, and fetches the report from a service process.
 *
 * @module
 */

import type postgres from "postgres";
import type { StoredCollision, StoredEvent, Tables } from "./history.ts";
import type { TestEnv } from "./test_env.ts";

export async function readTables(sql: postgres.Sql, report: Tables["report"]): Promise<Tables> {
  const events = await sql<StoredEvent[]>`
    select e.event_id as "eventId", e.kind, t.slug as tenant, e.key_id as "keyId",
      (extract(epoch from e.received_at) * 1000)::float8 as "receivedAtMs",
      to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt",
      e.idempotency_key as "idempotencyKey", e.flags,
      coalesce(e.lead::text, '') as lead, e.extra, coalesce(e.raw, '') as raw, s.verdict, s.reasons, f.form_key as form,
      coalesce(c.phone, s.phone) as phone, coalesce(c.email, s.email) as email, coalesce(c.last_name, s.last_name) as "lastName"
    from event as e join tenant as t on t.id = e.tenant_id left join submission as s on s.event_id = e.event_id
      left join form as f on f.id = s.form_id
      left join lead_contact as c on c.event_id = e.event_id
    order by e.event_id`;
  const attempts = await sql<Tables["attempts"][number][]>`
    select event_id as "eventId", number, (extract(epoch from at) * 1000)::float8 as "atMs", outcome, status, reason, duration_ms as "durationMs", spent
    from attempt order by event_id, number`;
  const outbox = await sql<{ id: string }[]>`select event_id as id from outbox`;
  const dead = await sql<Tables["dead"][number][]>`select event_id as "eventId", reason from dead_letter`;
  const collisions = await sql<StoredCollision[]>`
    select event_id as "eventId", key_id as "keyId", flags, lead::text as lead, extra, raw, count::int as count, other_person as "otherPerson"
    from collision where raw is not null`;
  const effects = await sql<Tables["effects"][number][]>`
    select e.event_id as "eventId", r.address, e.is_done as "isDone", e.status
    from actions.effect as e join actions.route as r on r.id = e.route_id`;
  const routes = await sql<Tables["routes"][number][]>`
    select t.slug as tenant, r.kind, r.source, r.form, r.address
    from actions.route as r join tenant as t on t.id = r.tenant_id`;
  return { events, attempts, dead, collisions, effects, routes, report, outbox: outbox.map(({ id }) => id) };
}

/** Returns the totals that a service process reports for these days, or `null` if it does not answer with 2xx. */
export async function fetchReport(opsPort: number, days: readonly string[]): Promise<Tables["report"]> {
  const sum = { accepted: 0, delivered: 0, spendCents: 0 };
  for (const day of days) {
    const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
    const url = `http://127.0.0.1:${opsPort}/v1/report?since=${day}T00:00:00Z&until=${next}T00:00:00Z`;
    const response = await fetch(url, { signal: AbortSignal.timeout(20_000) }).catch(() => null);
    if (!response?.ok) return null;
    for (const row of (await response.json()).rows) {
      sum.accepted += row.accepted;
      sum.delivered += row.delivered;
      sum.spendCents += row.spend_cents;
    }
  }
  return sum;
}

/** Returns the UTC days that the database's clock showed in this round. */
export function daysOf({ notes }: TestEnv): string[] {
  let offsetMs = 0;
  const times = [Date.now() - 3_600_000, Date.now()];
  for (const { stepMs } of notes.clockSteps) {
    offsetMs += stepMs;
    times.push(Date.now() - 3_600_000 + offsetMs, Date.now() + offsetMs);
  }
  return [...new Set(times.map((ms) => new Date(ms).toISOString().slice(0, 10)))];
}
