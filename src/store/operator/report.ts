/** Reads the data for the operator's report and for statements, by period and key. */

import type { Pool } from "../pool.ts";
import { readSourceActivity, reportMs, type SourceActivity } from "./sources.ts";

/** A part of a report's span, such as a day. */
export interface ReportPeriod {
  readonly name: string;
  /** ISO 8601, UTC. */
  readonly since: string;
}

interface ReportSpan {
  /**
   * ISO 8601, UTC.
   *
   * Chosen: duplicates and refusals are counted by hour (UTC), and count if their hour begins within the span. All other
   * figures are exact for the span; among its periods, an hour counts for the one in which it begins.
   */
  readonly since: string;
  readonly until: string;
  /**
   * The parts of the span to report apart, earliest first; each ends where the next one begins. An hour (UTC) counts for the
   * period in which it begins. Default: one period with the name `""`.
   */
  readonly periods?: readonly ReportPeriod[];
  /** A tenant's slug, or `null` for all. */
  readonly tenant: string | null;
  /** The deadline of each statement. */
  readonly deadlineMs?: number;
}

export interface PeriodFigures {
  readonly period: string;
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

/** A count by period and key, of what is not in {@linkcode PeriodFigures}. */
interface PeriodCount {
  readonly period: string;
  readonly keyId: number;
  /** `collisions`, `returned` and `credit_cents` count when the first post or the lead was received. */
  readonly name: "duplicates" | "collisions" | "refused" | "returned" | "credit_cents";
  /** The reason and the field of a refusal; otherwise `""`. */
  readonly reason: string;
  readonly field: string;
  readonly count: number;
}

export interface ReportData extends SourceActivity {
  readonly figures: readonly PeriodFigures[];
  readonly counts: readonly PeriodCount[];
  readonly unknownAreas: readonly (Pick<PeriodCount, "period" | "keyId" | "count"> & {
    readonly term: string;
  })[];
}

// The maximum number of terms per key and period; `ctl vocabulary unknown` lists the others.
const termsMax = 20;

/** Reads the report from the totals of rolled-up hours and, for other hours, from the events. */
export async function readReport(pool: Pool, span: ReportSpan): Promise<ReportData> {
  const { deadlineMs = reportMs } = span;
  const [activity, figures, counts, unknownAreas] = await Promise.all([
    readSourceActivity(pool, { tenant: span.tenant, deadlineMs }),
    readFigures(pool, span),
    readCounts(pool, span),
    readUnknownAreas(pool, span),
  ]);
  return { ...activity, figures, counts, unknownAreas };
}

type Sql = Parameters<Parameters<Pool["run"]>[1]>[0];
type Fragment = ReturnType<Sql>;

const ofTenant = (sql: Sql, tenant: string | null): Fragment =>
  tenant === null
    ? sql``
    : sql`and key_id in (select k.id from api_key as k join tenant as t on t.id = k.tenant_id where t.slug = ${tenant})`;

/** Returns the name of the period of a time, or the first period for an earlier time. */
function periodOf(sql: Sql, span: ReportSpan, time: Fragment): Fragment {
  const { since, periods = [{ name: "", since }] } = span;
  const [names, starts] = [periods.map(({ name }) => name), periods.map(({ since }) => since)];
  return sql`(${names}::text[])[greatest(1, width_bucket(${time}, ${starts}::text[]::timestamptz[]))]`;
}

/** Reads what is counted apart from the events' own figures. */
async function readCounts(pool: Pool, span: ReportSpan): Promise<PeriodCount[]> {
  const { since, until, tenant, deadlineMs = reportMs } = span;
  return await pool.run(deadlineMs, (sql) => {
    const from = (table: Fragment, time: Fragment) =>
      sql`from ${table} where ${time} >= ${since}::timestamptz and ${time} < ${until}::timestamptz ${
        ofTenant(sql, tenant)
      }`;
    const returns = from(sql`lead_return`, sql`received_at`);
    return sql<PeriodCount[]>`
      select ${
      periodOf(sql, span, sql`date_trunc('hour', p.at, 'UTC')`)
    } as period, p.key_id as "keyId", p.name, p.reason, p.field,
        sum(p.count)::float8 as count
      from (
        select hour as at, key_id, 'duplicates' as name, '' as reason, '' as field, count
        ${from(sql`duplicate_total`, sql`hour`)}
        union all select hour, key_id, 'refused', reason, field, count ${from(sql`refusal_total`, sql`hour`)}
        union all select first_at, key_id, 'collisions', '', '', 1 ${from(sql`collision`, sql`first_at`)}
        union all select received_at, key_id, 'returned', '', '', case when undoes is null then 1 else -1 end ${returns}
        union all select received_at, key_id, 'credit_cents', '', '', cents ${returns}
      ) as p
      group by 1, 2, 3, 4, 5
      order by count desc, p.field, p.reason`;
  });
}

async function readFigures(pool: Pool, span: ReportSpan): Promise<PeriodFigures[]> {
  const { since, until, tenant, deadlineMs = reportMs } = span;
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
    const period = periodOf(sql, span, sql`t.hour`);
    return sql<PeriodFigures[]>`
      with bounds as (select ${idAt(since)} as first, ${idAt(until)} as last),
      hours as materialized (
        select h.hour, greatest(h.hour, ${since}::timestamptz) as since, least(h.hour + interval '1 hour', ${until}::timestamptz) as until,
          r.hour is not null as is_rolled, r.again_at is null as is_exact
        from generate_series(
          greatest(date_trunc('hour', ${since}::timestamptz, 'UTC'), date_trunc('hour', (select min(received_at) from event where event_id = (
            select min(event_id) from event)), 'UTC')),
          -- Events from before the clock was set back are further ahead.
          least(${until}::timestamptz, greatest(service_clock(), event_id_time((select max(event_id) from event))) + interval '1 hour')
            - interval '1 microsecond',
          interval '1 hour'
        ) as h (hour)
        -- Of an hour at an end of the span, only a part may count.
        left join hour_rolled as r on r.hour = h.hour and h.hour >= ${since}::timestamptz
          and h.hour + interval '1 hour' <= ${until}::timestamptz
      ),
      totals as materialized (
        select t.*, h.is_exact
        from hours as h join hour_total as t on t.hour = h.hour where h.is_rolled ${ofTenant(sql, tenant)}
        union all
        select f.*, true
        from hours as h cross join lateral hour_figures(h.since, h.until) as f
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
          select w.hour, w.key_id, w.state, count(*)
          from (
            select h.hour, e.key_id, e.event_id, 'removed' as state
            from hours as h join event as e
              on e.event_id >= ${idAt(sql`h.hour`)} and e.event_id < ${
      idAt(sql`(h.hour + interval '1 hour')`)
    }
            where not h.is_exact and e.removed_at is not null
            union all
            select distinct h.hour, e.key_id, e.event_id, 'marked'
            from hours as h join attempt as m
              on m.event_id >= ${idAt(sql`h.hour`)} and m.event_id < ${
      idAt(sql`(h.hour + interval '1 hour')`)
    }
            join event as e on e.event_id = m.event_id and e.removed_at is null
            where not h.is_exact and m.outcome = 'marked'
              and not exists (select from outbox as o where o.event_id = m.event_id)
              and not exists (select from dead_letter as d where d.event_id = m.event_id)
          ) as w
          where not ${wasDelivered}
          group by 1, 2, 3
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
        select ${period} as period, key_id, accepted, spend_cents, pending, dead, held, held_apart, delivered,
          null as kind, null as name, null::bigint as count
        from of_hours as t where accepted is not null
        union all
        select ${period}, t.key_id, 0, 0, 0, 0, 0, 0, 0, j.kind, j.name, sum(j.count)
        from totals as t cross join lateral (
          select 'flag' as kind, f.key as name, f.value::int as count from json_each_text(t.flags) as f
          union all
          select 'seconds', s.key, s.value::int from json_each_text(t.seconds) as s
        ) as j
        group by 1, 2, j.kind, j.name
      )
      select
        period, key_id as "keyId", sum(accepted)::float8 as accepted,
        sum(spend_cents)::float8 as "spendCents", sum(delivered)::float8 as delivered,
        sum(pending)::float8 as pending, sum(dead)::float8 as dead, sum(held)::float8 as held, sum(held_apart)::float8 as "heldApart",
        coalesce(json_object_agg(name, count) filter (where kind = 'flag'), '{}') as flags,
        coalesce(json_object_agg(name, count) filter (where kind = 'seconds'), '{}') as seconds
      from parts group by period, key_id`;
  });
}

async function readUnknownAreas(pool: Pool, span: ReportSpan): Promise<ReportData["unknownAreas"]> {
  const { since, until, tenant, deadlineMs = reportMs } = span;
  return await pool.run(deadlineMs, (sql) => {
    const idAt = (time: string) => sql`event_id_at(${time}::timestamptz)`;
    return sql<ReportData["unknownAreas"]>`
      select n.period, n.key_id as "keyId", n.term, n.count::float8 as count
      from (
        select t.*, row_number() over (partition by t.period, t.key_id order by t.count desc, t.term) as place
        from (
          select
            ${
      periodOf(sql, span, sql`date_trunc('hour', e.received_at, 'UTC')`)
    } as period, e.key_id, e.lead ->> 'project_area' as term,
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
