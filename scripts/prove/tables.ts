/**
 * Reads the tables with plain SQL, and compares the events with a service process's report.
 *
 * @module
 */

import type postgres from "postgres";
import type { StoredCollision, StoredEvent, Tables } from "./history.ts";
import { waitFor } from "./clock.ts";
import type { TestEnv } from "./test_env.ts";

export async function readTables(
  sql: postgres.Sql,
  reportDifferences: Tables["reportDifferences"],
): Promise<Tables> {
  const events = await sql<StoredEvent[]>`
    select e.event_id as "eventId", e.kind, t.slug as tenant, e.key_id as "keyId",
      (extract(epoch from e.received_at) * 1000)::float8 as "receivedAtMs",
      to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt",
      e.idempotency_key as "idempotencyKey", e.flags,
      coalesce(e.lead::text, '') as lead, e.extra, coalesce(e.raw, '') as raw, s.verdict, s.reasons, f.form_key as form,
      case when e.kind = 'lead' and c.phone = search_phone(e.lead ->> 'phone') then e.lead ->> 'phone' else c.phone end as phone,
      c.email, c.last_name as "lastName"
    from event as e join tenant as t on t.id = e.tenant_id left join submission as s on s.event_id = e.event_id
      left join form as f on f.id = s.form_id
      left join search_entry as c on c.ref = e.event_id
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
  const ids = outbox.map(({ id }) => id);
  return { events, attempts, dead, collisions, effects, routes, outbox: ids, reportDifferences };
}

/** Figures by tenant, source and kind, and by name. */
type Figures = Map<string, Record<string, number>>;
interface FigureRow {
  readonly tenant: string;
  readonly source: string;
  readonly kind: string;
  readonly flags: Readonly<Record<string, number>>;
  readonly [figure: string]: unknown;
}

const comparedFigures = ["accepted", "delivered", "held", "held_apart", "spend_cents"];

function addFigures(figures: Figures, { tenant, source, kind, flags, ...row }: FigureRow): void {
  const key = `${tenant} ${source} ${kind}`;
  const sums = figures.get(key) ?? {};
  figures.set(key, sums);
  const counts = [...comparedFigures.map((name) => [name, row[name]] as const), ...Object.entries(flags)];
  for (const [name, count] of counts) sums[name] = (sums[name] ?? 0) + Number(count);
}

/** Waits until a process's report for these days matches the events, and returns the remaining differences. */
export async function awaitReport(
  { sql, nodes }: TestEnv,
  days: readonly string[],
  { deadlineMs, rollsUp = false }: { readonly deadlineMs: number; readonly rollsUp?: boolean },
): Promise<readonly string[]> {
  let found: readonly string[] = ["no process serves the report"];
  await waitFor(async () => {
    if (rollsUp) await sql`select roll_up_hours(1000)`;
    found = await compareReport(sql, nodes[0]?.opsPort ?? 0, days) ?? found;
    return found.length === 0;
  }, { deadlineMs, everyMs: 200 });
  return found;
}

/** Returns a message for each source whose figures differ, or `null` if the process does not answer with 2xx. */
async function compareReport(
  sql: postgres.Sql,
  opsPort: number,
  days: readonly string[],
): Promise<readonly string[] | null> {
  const reported: Figures = new Map();
  for (const day of days) {
    const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
    const url = `http://127.0.0.1:${opsPort}/v1/report?since=${day}T00:00:00Z&until=${next}T00:00:00Z`;
    const response = await fetch(url, { signal: AbortSignal.timeout(20_000) }).catch(() => null);
    if (!response?.ok) return null;
    for (const row of (await response.json()).rows) addFigures(reported, row);
  }
  const stored: Figures = new Map();
  const events = await sql<(Omit<FigureRow, "flags"> & { readonly names: readonly string[] })[]>`
    select t.slug as tenant, k.label as source, e.kind, 1 as accepted, e.flags as names,
      exists (select from attempt as a where a.event_id = e.event_id and a.outcome = 'delivered') as delivered,
      coalesce(is_unreviewed(s, 'spam') and e.removed_at is null, false) as held,
      coalesce(s.verdict <> 'clean' and s.released_at is null and not is_unreviewed(s, 'spam') and e.removed_at is null, false)
        as held_apart,
      coalesce(e.cost_cents, case when e.kind = 'lead' then (e.lead ->> 'cost_cents')::int end, 0) as spend_cents
    from event as e join tenant as t on t.id = e.tenant_id join api_key as k on k.id = e.key_id
      left join submission as s on s.event_id = e.event_id`;
  for (const { names, ...row } of events) {
    addFigures(stored, { ...row, flags: Object.fromEntries(names.map((flag) => [flag, 1])) } as FigureRow);
  }
  return [...new Set([...reported.keys(), ...stored.keys()])].flatMap((source) => {
    const [is, wanted] = [reported, stored].map((figures) => figures.get(source) ?? {});
    const names = Object.keys({ ...is, ...wanted }).filter((name) =>
      (is?.[name] ?? 0) !== (wanted?.[name] ?? 0)
    );
    return names.map((name) =>
      `the report has ${is?.[name] ?? 0} ${name} of ${source}, expected ${wanted?.[name] ?? 0}`
    );
  });
}

/** Reads the counts of repeats and refusals by key, field and reason. */
export async function readCounts(sql: postgres.Sql): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ name: string; count: number }[]>`
    select key_id || ' duplicate' as name, sum(count)::int as count from duplicate_total group by 1
    union all
    select concat_ws(' ', key_id, nullif(field, ''), reason), sum(count)::int from refusal_total group by 1`;
  return new Map(rows.map(({ name, count }) => [name, count]));
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
