/** Adds the minute samples for the month, which the console plots. */

import type { Refusal } from "./month.ts";
import type { Pool } from "../../src/store/pool.ts";

const deadlineMs = 60_000;

/** Derives the samples from the demo's events and refusals. Existing samples are not changed. */
export async function fillSamples(
  pool: Pool,
  { tenantIds, refusals }: { readonly tenantIds: readonly number[]; readonly refusals: readonly Refusal[] },
): Promise<void> {
  await pool.run(deadlineMs, (sql) =>
    sql`
      with e as (
        select date_trunc('minute', e.received_at) as at, count(*)::int as count
        from event as e where e.tenant_id = any (${[...tenantIds]}) group by 1
      ),
      a as (
        select date_trunc('minute', a.at) as at, count(*) filter (where a.outcome = 'delivered')::int as delivered,
          count(*) filter (where a.outcome <> 'delivered')::int as failed,
          bool_or(a.outcome = 'unreachable') as away
        from attempt as a join event as e on e.event_id = a.event_id
        where e.tenant_id = any (${[...tenantIds]}) group by 1
      ),
      r as (
        select c.at, sum(c.count)::int as count, json_object_agg(c.code, c.count) as codes
        from (
          select date_trunc('minute', u.at::timestamptz) as at, u.code, count(*)::int as count
          from unnest(${refusals.map(({ at }) => at)}::text[], ${
      refusals.map(({ code }) => code)
    }::text[]) as u (at, code)
          group by 1, 2
        ) as c
        group by 1
      )
      insert into minute_sample
        (at, node, accepted, refused, refusals, delivered, failed, died, pending, dead, oldest_pending_s, breaker)
      select m.at, 'demo', coalesce(e.count, 0), coalesce(r.count, 0), coalesce(r.codes, '{}'),
        coalesce(a.delivered, 0), coalesce(a.failed, 0),
        (select count(*) from dead_letter as d where d.tenant_id = any (${[
      ...tenantIds,
    ]}) and date_trunc('minute', d.died_at) = m.at), coalesce(a.failed, 0),
        (select count(*) from dead_letter as d where d.tenant_id = any (${[
      ...tenantIds,
    ]}) and d.died_at <= m.at),
        case when coalesce(a.failed, 0) > 0 then 600 else 0 end, case when a.away then 'open' else 'closed' end
      from generate_series(
        date_trunc('minute', now() - interval '30 days'), date_trunc('minute', now()), interval '1 minute'
      ) as m (at)
      left join e on e.at = m.at left join a on a.at = m.at left join r on r.at = m.at
      on conflict (at, node) do nothing`);
}
