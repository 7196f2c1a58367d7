/** Reads the data for the operator's report, by day (UTC) and key. */

import type { Pool } from "../pool.ts";
import { isoTime } from "./admin_pool.ts";

interface ReportSpan {
  /** The start of an hour, ISO 8601, UTC. */
  readonly since: string;
  /** ISO 8601, UTC. Duplicates and refusals are counted for whole UTC days. */
  readonly until: string;
  /** A tenant's slug, or `null` for all. */
  readonly tenant: string | null;
  /** The deadline of each statement. */
  readonly deadlineMs?: number;
}

/** A source of leads or submissions: one API key. */
export interface ReportSource {
  readonly keyId: number;
  readonly tenant: string;
  readonly isSandbox: boolean;
  readonly source: string;
  readonly kind: "lead" | "form";
  readonly isActive: boolean;
  /** ISO 8601, UTC. */
  readonly lastAcceptedAt: string | null;
  /** The longest time between successive hours with events, in the four weeks before the last event. */
  readonly longestGapHours: number | null;
}

export interface DayFigures {
  readonly day: string;
  readonly keyId: number;
  readonly accepted: number;
  readonly spendCents: number;
  readonly delivered: number;
  readonly pending: number;
  readonly dead: number;
  /** Held submissions to review. */
  readonly held: number;
  /** Other held submissions: honeypot hits, and those that an operator dismissed. */
  readonly heldApart: number;
  readonly flags: Readonly<Record<string, number>>;
  /** The numbers of events by bucket of the time to delivery; see the SQL function hour_figures. */
  readonly seconds: Readonly<Record<string, number>>;
}

interface DayCount {
  readonly day: string;
  readonly keyId: number;
  readonly count: number;
}

export interface ReportData {
  readonly now: string;
  readonly sources: readonly ReportSource[];
  readonly figures: readonly DayFigures[];
  readonly duplicates: readonly DayCount[];
  /** Collisions, by the day of the first post. */
  readonly collisions: readonly DayCount[];
  readonly refusals: readonly (DayCount & { readonly reason: string; readonly field: string })[];
  readonly unknownAreas: readonly (DayCount & { readonly term: string })[];
}

// Shorter than the client's timeout.
const reportMs = 16_000;
// The maximum number of terms per key and day; `ctl vocabulary unknown` lists the others.
const termsMax = 20;

/** Reads the report from the totals of rolled-up hours and, for other hours, from the events. */
export async function readReport(pool: Pool, span: ReportSpan): Promise<ReportData> {
  const { deadlineMs = reportMs } = span;
  const [clock, sources, figures, duplicates, collisions, refusals, unknownAreas] = await Promise.all([
    readClock(pool, deadlineMs),
    readSources(pool, span.tenant, { deadlineMs }),
    readFigures(pool, span),
    pool.run(deadlineMs, (sql) =>
      sql<DayCount[]>`
        select to_char(day, 'YYYY-MM-DD') as day, key_id as "keyId", count::float8 as count
        from duplicate_total where ${wholeDays(sql, span)}`),
    pool.run(deadlineMs, (sql) =>
      sql<DayCount[]>`
        select to_char(first_at at time zone 'UTC', 'YYYY-MM-DD') as day, key_id as "keyId", count(*)::float8 as count
        from collision where first_at >= ${span.since}::timestamptz and first_at < ${span.until}::timestamptz
        group by 1, 2`),
    pool.run(deadlineMs, (sql) =>
      sql<ReportData["refusals"]>`
        select to_char(day, 'YYYY-MM-DD') as day, key_id as "keyId", reason, field, count::float8 as count
        from refusal_total where ${wholeDays(sql, span)}
        order by count desc, field, reason`),
    readUnknownAreas(pool, span),
  ]);
  return { now: clock, sources, figures, duplicates, collisions, refusals, unknownAreas };
}

type Sql = Parameters<Parameters<Pool["run"]>[1]>[0];
type Fragment = ReturnType<Sql>;

const wholeDays = (sql: Sql, { since, until }: ReportSpan): Fragment =>
  sql`day >= (${since}::timestamptz at time zone 'UTC')::date
    and day < ${until}::timestamptz at time zone 'UTC'`;

const ofTenant = (sql: Sql, tenant: string | null): Fragment =>
  tenant === null
    ? sql``
    : sql`and key_id in (select k.id from api_key as k join tenant as t on t.id = k.tenant_id where t.slug = ${tenant})`;

/** Reads the sources, to find silent ones; `longestGapHours` is `null` for sources with an event in the last day. */
export async function readSourceActivity(pool: Pool): Promise<Pick<ReportData, "now" | "sources">> {
  const [now, sources] = await Promise.all([
    readClock(pool, reportMs),
    readSources(pool, null, { skipsActive: true }),
  ]);
  return { now, sources };
}

async function readClock(pool: Pool, deadlineMs: number): Promise<string> {
  const [row] = await pool.run(
    deadlineMs,
    (sql) => sql<{ now: string }[]>`select ${isoTime(sql, sql`service_clock()`)} as now`,
  );
  return row?.now ?? "";
}

async function readSources(
  pool: Pool,
  tenant: string | null,
  { skipsActive = false, deadlineMs = reportMs } = {},
): Promise<ReportSource[]> {
  return await pool.run(deadlineMs, (sql) =>
    sql<ReportSource[]>`
      select
        k.id as "keyId", t.slug as tenant, t.sandbox as "isSandbox", k.label as source,
        case k.surface when 'forms' then 'form' else 'lead' end as kind, k.revoked_at is null and k.suspended_at is null as "isActive",
        ${isoTime(sql, sql`e.received_at`)} as "lastAcceptedAt", g.hours::float8 as "longestGapHours"
      from api_key as k
      join tenant as t on t.id = k.tenant_id
      left join lateral (
        -- Compared as rows; otherwise the planner may scan all events for a key without recent ones.
        select e.received_at from event as e
        where (e.key_id, e.event_id) >= (k.id, '') and (e.key_id, e.event_id) < (k.id + 1, '')
        order by e.key_id desc, e.event_id desc limit 1
      ) as e on true
      left join lateral (
        select max(extract(epoch from h.gap)) / 3600 as hours
        from (
          select t.hour - lag(t.hour) over (order by t.hour) as gap
          from hour_total as t
          where t.key_id = k.id and t.hour > e.received_at - interval '28 days' and t.hour <= e.received_at
            ${skipsActive ? sql`and e.received_at < (select service_clock()) - interval '1 day'` : sql``}
        ) as h
      ) as g on true
      where ${tenant === null ? sql`true` : sql`t.slug = ${tenant}`}
      order by t.slug, k.label, k.id`);
}

async function readFigures(
  pool: Pool,
  { since, until, tenant, deadlineMs = reportMs }: ReportSpan,
): Promise<DayFigures[]> {
  return await pool.run(deadlineMs, (sql) => {
    // Undelivered events by the hour of acceptance. There are few unless something is wrong.
    const waiting = (state: string, table: Fragment, condition: Fragment) =>
      sql`
        select date_trunc('hour', e.received_at, 'UTC') as hour, e.key_id, ${state}::text as state, count(*) as count
        from ${table} as w join event as e on e.event_id = w.event_id
        where w.event_id >= (select first from bounds) and w.event_id < (select last from bounds) and ${condition}
        group by 1, 2`;
    // An event that is sent again counts as delivered, whatever the outcome of the repeat.
    const wasDelivered =
      sql`exists (select from attempt as a where a.event_id = w.event_id and a.outcome = 'delivered')`;
    const idAt = (time: string | Fragment) => sql`event_id_at(${time}::timestamptz)`;
    return sql<DayFigures[]>`
      with bounds as (select ${idAt(since)} as first, ${idAt(until)} as last),
      hours as materialized (
        select h.hour, r.hour is not null as is_rolled, coalesce(r.is_final, true) as is_exact
        from generate_series(
          greatest(${since}::timestamptz, date_trunc('hour', (select min(received_at) from event where event_id = (
            select min(event_id) from event)), 'UTC')),
          least(${until}::timestamptz, service_clock() + interval '1 hour') - interval '1 microsecond',
          interval '1 hour'
        ) as h (hour)
        left join hour_rolled as r on r.hour = h.hour
      ),
      totals as materialized (
        select t.*, h.is_exact
        from hours as h join hour_total as t on t.hour = h.hour where h.is_rolled ${ofTenant(sql, tenant)}
        union all
        select f.*, true
        from hours as h cross join lateral hour_figures(h.hour, h.hour + interval '1 hour') as f
        where not h.is_rolled ${ofTenant(sql, tenant)}
      ),
      waiting as materialized (
        select * from (
          ${waiting("pending", sql`outbox`, sql`not (w.is_replay and ${wasDelivered})`)}
          union all ${waiting("dead", sql`dead_letter`, sql`not ${wasDelivered}`)}
          union all ${
      waiting("held", sql`submission`, sql`is_unreviewed(w, 'spam') and e.removed_at is null`)
    }
          union all ${
      waiting(
        "held_apart",
        sql`submission`,
        sql`w.verdict <> 'clean' and w.released_at is null and not is_unreviewed(w, 'spam') and e.removed_at is null`,
      )
    }
          -- Neither delivered nor pending; needed only for hours whose delivered events are not counted exactly.
          union all
          select h.hour, e.key_id, 'removed', count(*)
          from hours as h join event as e
            on e.event_id >= ${idAt(sql`h.hour`)} and e.event_id < ${idAt(sql`(h.hour + interval '1 hour')`)}
          where not h.is_exact and e.removed_at is not null
            and not exists (select from attempt as a where a.event_id = e.event_id and a.outcome = 'delivered')
          group by 1, 2
        ) as w where true ${ofTenant(sql, tenant)}
      ),
      -- Grouped instead of joined, because the planner cannot estimate the join.
      of_hours as (
        select
          hour, key_id, sum(accepted) as accepted, sum(spend_cents) as spend_cents, sum(pending) as pending,
          sum(dead) as dead, sum(held) as held, sum(held_apart) as held_apart,
          -- In an hour that is not final, events that are not pending, dead, held or removed were delivered.
          coalesce(sum(delivered), greatest(0, sum(accepted) - sum(waiting))) as delivered
        from (
          select hour, key_id, accepted, spend_cents, 0 as pending, 0 as dead, 0 as held, 0 as held_apart, 0 as waiting,
            case when is_exact then (select coalesce(sum(s.value::int), 0) from json_each_text(seconds) as s)
              end as delivered
          from totals
          union all
          select hour, key_id, null, 0, case state when 'pending' then count else 0 end,
            case state when 'dead' then count else 0 end, case state when 'held' then count else 0 end,
            case state when 'held_apart' then count else 0 end, count, null
          from waiting
        ) as p
        group by 1, 2
      ),
      parts as (
        select (hour at time zone 'UTC')::date as day, key_id, accepted, spend_cents, pending, dead, held, held_apart, delivered,
          null as kind, null as name, null::bigint as count
        from of_hours where accepted is not null
        union all
        select (t.hour at time zone 'UTC')::date, t.key_id, 0, 0, 0, 0, 0, 0, 0, j.kind, j.name, sum(j.count)
        from totals as t cross join lateral (
          select 'flag' as kind, f.key as name, f.value::int as count from json_each_text(t.flags) as f
          union all
          select 'seconds', s.key, s.value::int from json_each_text(t.seconds) as s
        ) as j
        group by 1, 2, j.kind, j.name
      )
      select
        to_char(day, 'YYYY-MM-DD') as day, key_id as "keyId", sum(accepted)::float8 as accepted,
        sum(spend_cents)::float8 as "spendCents", sum(delivered)::float8 as delivered,
        sum(pending)::float8 as pending, sum(dead)::float8 as dead, sum(held)::float8 as held, sum(held_apart)::float8 as "heldApart",
        coalesce(json_object_agg(name, count) filter (where kind = 'flag'), '{}') as flags,
        coalesce(json_object_agg(name, count) filter (where kind = 'seconds'), '{}') as seconds
      from parts group by parts.day, key_id`;
  });
}

async function readUnknownAreas(
  pool: Pool,
  { since, until, tenant, deadlineMs = reportMs }: ReportSpan,
): Promise<ReportData["unknownAreas"]> {
  return await pool.run(deadlineMs, (sql) => {
    const idAt = (time: string) => sql`event_id_at(${time}::timestamptz)`;
    return sql<ReportData["unknownAreas"]>`
      select to_char(n.day, 'YYYY-MM-DD') as day, n.key_id as "keyId", n.term, n.count::float8 as count
      from (
        select t.*, row_number() over (partition by t.day, t.key_id order by t.count desc, t.term) as place
        from (
          select
            (e.received_at at time zone 'UTC')::date as day, e.key_id, e.lead ->> 'project_area' as term,
            count(*) as count
          from event as e
          where e.flags @> '{project_area_unknown}' and e.event_id >= ${idAt(since)} and e.event_id < ${
      idAt(until)
    }
            and e.removed_at is null ${ofTenant(sql, tenant)}
          group by 1, 2, 3
        ) as t
      ) as n
      where n.place <= ${termsMax}
      order by n.count desc, n.term`;
  });
}
