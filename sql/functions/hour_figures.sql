-- Returns the report's figures for the events accepted in a span, by hour and key. Times to delivery are counted in
-- buckets: bucket n contains times up to 0.001 s × 1.05^n.
create or replace function hour_figures(p_from timestamptz, p_to timestamptz)
returns table (hour timestamptz, key_id int, accepted int, spend_cents bigint, flags json, seconds json)
language sql stable
as $$
  with e as materialized (
    select
      date_trunc('hour', e.received_at, 'UTC') as hour, e.key_id, e.event_id, e.received_at, e.flags,
      -- The lead contains the cost until its content is removed.
      coalesce(e.cost_cents, case when e.kind = 'lead' then (e.lead ->> 'cost_cents')::int end) as cost_cents
    from event as e
    where e.event_id >= event_id_at(p_from) and e.event_id < event_id_at(p_to)
  ),
  -- Grouped instead of joined: for an hour that has just started, the planner expects one row and would loop over all
  -- keys for each key.
  parts as (
    select e.hour, e.key_id, count(*) as accepted, coalesce(sum(e.cost_cents), 0) as spend_cents,
      null as kind, null as name, null::bigint as count
    from e group by 1, 2
    union all
    select e.hour, e.key_id, 0, 0, 'flag', u.flag, count(*)
    from e cross join lateral unnest(e.flags) as u (flag)
    group by 1, 2, u.flag
    union all
    select e.hour, e.key_id, 0, 0, 'seconds', b.bucket, count(*)
    from e
    cross join lateral (
      select greatest(0, ceil(ln(greatest(d.seconds, 0.001) / 0.001) / ln(1.05)))::int::text as bucket
      from (
        select
          extract(epoch from a.at - e.received_at)::float8 + coalesce(a.duration_ms, 0) / 1000.0 as seconds
        from attempt as a
        where a.event_id = e.event_id and a.outcome = 'delivered'
        order by a.number limit 1
      ) as d
    ) as b
    group by 1, 2, b.bucket
  )
  select p.hour, p.key_id, sum(p.accepted)::int, sum(p.spend_cents)::bigint,
    coalesce(json_object_agg(p.name, p.count) filter (where p.kind = 'flag'), '{}'),
    coalesce(json_object_agg(p.name, p.count) filter (where p.kind = 'seconds'), '{}')
  from parts as p
  group by p.hour, p.key_id;
$$;
