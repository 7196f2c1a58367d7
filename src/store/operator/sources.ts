/** Reads the sources of leads and submissions, and finds those that have gone silent. */

import type { Pool } from "../pool.ts";
import { isoTime } from "./admin_pool.ts";

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

export interface SourceActivity {
  /** The database's time, ISO 8601, UTC. */
  readonly now: string;
  readonly sources: readonly ReportSource[];
}

/** The default deadline of a report's statements; shorter than the client's timeout. */
export const reportMs = 16_000;

/**
 * Reads the sources of one tenant or, with `null`, of all tenants. With `skipsActive`, `longestGapHours` is `null` for sources with
 * an event in the last day.
 */
export async function readSourceActivity(
  pool: Pool,
  { tenant = null, skipsActive = false, deadlineMs = reportMs }: {
    readonly tenant?: string | null;
    readonly skipsActive?: boolean;
    readonly deadlineMs?: number;
  } = {},
): Promise<SourceActivity> {
  const [clock] = await pool.run(
    deadlineMs,
    (sql) => sql<{ now: string }[]>`select ${isoTime(sql, sql`service_clock()`)} as now`,
  );
  const sources = await pool.run(deadlineMs, (sql) =>
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
        where (e.key_id, e.event_id) >= (k.id, '')
          and (e.key_id, e.event_id) < (k.id, (select event_id_at(service_clock() + interval '1 hour')))
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
  return { now: clock?.now ?? "", sources };
}

/** The members that identify a source; keys with the same ones are one source. */
export type SourceName = Pick<ReportSource, "tenant" | "source" | "kind">;

/** Returns a key that identifies a source in a map. */
export const sourceKey = ({ tenant, source, kind }: SourceName) => JSON.stringify([tenant, source, kind]);

/** Orders texts by their UTF-16 code units. */
export const compare = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;

/** Orders by tenant, source and kind. */
export const byName = (a: SourceName, b: SourceName) =>
  compare(a.tenant, b.tenant) || compare(a.source, b.source) || compare(a.kind, b.kind);

/** A source and its last activity. */
export interface SourceRow {
  readonly tenant: string;
  readonly source: string;
  readonly kind: "lead" | "form";
  readonly last_accepted_at: string | null;
  /** The number of hours without an event after which the source is silent; `null` if it is never silent. */
  readonly silent_after_hours: number | null;
  readonly silent: boolean;
}

const hourMs = 3_600_000;
const silentHoursMin = 24;
const gapFactor = 1.5;

/**
 * Returns the sources that have an active key, except those of sandbox tenants. A source is silent if it has sent nothing for
 * 1.5 times its longest gap in the four weeks before its last event, and for at least 24 hours. A source without events is
 * never silent.
 *
 * Chosen: four weeks, so that the longest gap covers the source's usual nights and weekends.
 */
export function sourceRows({ sources, now }: SourceActivity): SourceRow[] {
  const groups = Map.groupBy(sources.filter(({ isSandbox }) => !isSandbox), sourceKey);
  return [...groups.values()].filter((keys) => keys.some(({ isActive }) => isActive)).map((keys) => {
    const { tenant, source, kind } = keys[0] as ReportSource;
    const last = keys.map(({ lastAcceptedAt }) => lastAcceptedAt ?? "").sort().at(-1) || null;
    const gaps = keys.map(({ longestGapHours }) => longestGapHours ?? 0);
    const afterHours = last === null
      ? null
      : Math.max(silentHoursMin, Math.ceil(gapFactor * Math.max(...gaps)));
    const silentMs = last === null ? 0 : Date.parse(now) - Date.parse(last);
    return {
      tenant,
      source,
      kind,
      last_accepted_at: last,
      silent_after_hours: afterHours,
      silent: afterHours !== null && silentMs > afterHours * hourMs,
    };
  }).sort(byName);
}
