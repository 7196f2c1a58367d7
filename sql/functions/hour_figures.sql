-- What the report says of the events accepted in a span, by hour and key. Times to delivery are counted by bucket:
-- number n holds what is longer than 0.001 s × 1.05^(n-1) and at most 0.001 s × 1.05^n.
create or replace function hour_figures(p_from timestamptz, p_to timestamptz)
returns table (hour timestamptz, key_id int, accepted int, spend_cents bigint, flags json, seconds json)
language sql stable
as $$
  with e as materialized (
    select
      date_trunc('hour', e.received_at, 'UTC') as hour, e.key_id, e.event_id, e.received_at, e.flags,
      -- Before the column there was, and as long as the lead is there, it has the cost.
      coalesce(e.cost_cents, case when e.kind = 'lead' then (e.lead ->> 'cost_cents')::int end) as cost_cents
    from event as e
    where e.event_id >= lpad(to_hex((extract(epoch from p_from) * 1000000)::bigint), 14, '0')
      and e.event_id < lpad(to_hex((extract(epoch from p_to) * 1000000)::bigint), 14, '0')
  ),
  flagged as (
    select f.hour, f.key_id, json_object_agg(f.flag, f.count) as flags
    from (
      select e.hour, e.key_id, u.flag, count(*) as count
      from e cross join lateral unnest(e.flags) as u (flag)
      group by 1, 2, 3
    ) as f
    group by 1, 2
  ),
  delivered as (
    select b.hour, b.key_id, json_object_agg(b.bucket, b.count) as seconds
    from (
      select
        e.hour, e.key_id,
        greatest(0, ceil(ln(greatest(d.seconds, 0.001) / 0.001) / ln(1.05)))::int as bucket, count(*) as count
      from e
      cross join lateral (
        select
          extract(epoch from a.at - e.received_at)::float8 + coalesce(a.duration_ms, 0) / 1000.0 as seconds
        from attempt as a
        where a.event_id = e.event_id and a.outcome = 'delivered'
        order by a.number limit 1
      ) as d
      group by 1, 2, 3
    ) as b
    group by 1, 2
  )
  select t.hour, t.key_id, t.accepted, t.spend_cents, coalesce(f.flags, '{}'), coalesce(d.seconds, '{}')
  from (
    select e.hour, e.key_id, count(*)::int as accepted, coalesce(sum(e.cost_cents), 0)::bigint as spend_cents
    from e group by 1, 2
  ) as t
  left join flagged as f using (hour, key_id)
  left join delivered as d using (hour, key_id);
$$;
