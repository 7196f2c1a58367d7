/**
 * The tables as they are, read with plain statements.
 *
 * @module
 */

import http from "node:http";
import type postgres from "postgres";
import type { Tables } from "./history.ts";

/** Reads all of them, when nothing writes any more. */
export async function readTables(sql: postgres.Sql, report: Tables["report"]): Promise<Tables> {
  const events = await sql<{
    id: string;
    kind: "lead" | "form";
    tenant: string;
    key_id: number;
    ms: number;
    idempotency_key: string | null;
    flags: string[];
    lead: string | null;
    extra: string | null;
    raw: string | null;
    verdict: string | null;
  }[]>`
    select e.event_id as id, e.kind, t.slug as tenant, e.key_id, (extract(epoch from e.received_at) * 1000)::float8 as ms,
      e.idempotency_key, e.flags, e.lead::text as lead, e.extra, e.raw, s.verdict
    from event as e join tenant as t on t.id = e.tenant_id left join submission as s on s.event_id = e.event_id
    order by e.event_id`;
  const attempts = await sql<Tables["attempts"][number][]>`
    select event_id as "eventId", number, outcome, status, reason, duration_ms as "durationMs", spent
    from attempt order by event_id, number`;
  const outbox = await sql<{ id: string }[]>`select event_id as id from outbox`;
  const dead = await sql<{ eventId: string; reason: string | null }[]>`
    select event_id as "eventId", reason from dead_letter`;
  const [tally] = await sql<{ pending: number; dead: number }[]>`
    select coalesce(sum(delta) filter (where state = 'pending'), 0)::int as pending,
      coalesce(sum(delta) filter (where state = 'dead'), 0)::int as dead
    from outbox_tally`;
  const spend = await sql<{ slug: string; cents: number }[]>`
    select c.slug, coalesce((select sum(h.cents) from campaign_charge as h where h.campaign_id = c.id), 0)::int as cents
    from campaign as c`;
  const collisions = await sql<{ eventId: string; raw: string; count: number }[]>`
    select event_id as "eventId", raw, count::int from collision`;
  const counted = async (table: "duplicate_total" | "refusal_total") => {
    const rows = await sql<{ key: number; count: number }[]>`
      select key_id as key, sum(count)::int as count from ${sql(table)} group by key_id`;
    return Object.fromEntries(rows.map(({ key, count }) => [key, count]));
  };
  return {
    events: events.map((row) => ({
      ...{ eventId: row.id, kind: row.kind, tenant: row.tenant, keyId: row.key_id, receivedAtMs: row.ms },
      ...{ idempotencyKey: row.idempotency_key, flags: row.flags, lead: row.lead ?? "", extra: row.extra },
      ...{ raw: row.raw ?? "", verdict: row.verdict },
    })),
    attempts,
    outbox: outbox.map(({ id }) => id),
    dead,
    tally: tally ?? { pending: 0, dead: 0 },
    spendCents: Object.fromEntries(spend.map(({ slug, cents }) => [slug, cents])),
    collisions,
    duplicates: await counted("duplicate_total"),
    refusals: await counted("refusal_total"),
    report,
  };
}

/** What a service process reports of all days of `years`; `null` without an answer. */
export async function askReport(opsPort: number, days: readonly string[]): Promise<Tables["report"]> {
  const sum = { accepted: 0, spendCents: 0 };
  for (const day of days) {
    const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
    const text = await get(opsPort, `/v1/report?since=${day}T00:00:00Z&until=${next}T00:00:00Z`);
    if (text === null) return null;
    for (const row of JSON.parse(text).rows) {
      sum.accepted += row.accepted;
      sum.spendCents += row.spend_cents;
    }
  }
  return sum;
}

function get(port: number, path: string): Promise<string | null> {
  return new Promise((settle) => {
    const sent = http.get({ host: "127.0.0.1", port, path, agent: false, timeout: 20_000 }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => text += chunk);
      response.on("end", () => settle(response.statusCode === 200 ? text : null));
      response.on("error", () => settle(null));
    });
    sent.on("timeout", () => sent.destroy());
    sent.on("error", () => settle(null));
  });
}
