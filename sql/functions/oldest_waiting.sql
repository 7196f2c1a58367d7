-- Returns the oldest pending event of the tenants whose events are claimed, except events that wait only for the end of a
-- pause. Finds it among the first p_looked_max events or, if none of these qualifies, because they are a paused tenant's,
-- among the first due ones of each tenant, as many in total. age_seconds: how far its acceptance is from now; if the clock was
-- set back since, the event that is furthest ahead is returned, if it is further from now than the oldest.
create or replace function oldest_waiting(p_looked_max int)
returns table (event_id text, tenant_id int, reason text, age_seconds float8)
language sql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
  with clock as materialized (select service_clock() as now),
  ahead as materialized (
    select o.event_id, o.tenant_id, o.reason
    from (
      select o.event_id, o.tenant_id, o.reason from outbox as o
      where o.event_id > (select event_id_at(c.now) from clock as c) order by o.event_id desc limit p_looked_max
    ) as o
    join tenant as t on t.id = o.tenant_id and t.is_delivering
    where o.reason is distinct from 'paused'
    order by o.event_id desc limit 1
  ),
  found as materialized (
    select o.event_id, o.tenant_id, o.reason
    from (select o.event_id, o.tenant_id, o.reason from outbox as o order by o.event_id limit p_looked_max) as o
    join tenant as t on t.id = o.tenant_id and t.is_delivering
    where o.reason is distinct from 'paused'
    order by o.event_id limit 1
  )
  select w.*, abs(extract(epoch from c.now - event_id_time(w.event_id)))::float8
  from clock as c cross join (
    select a.* from ahead as a
    union all
    select f.* from found as f
    union all
    (
      select o.event_id, t.id, o.reason
      from (select t.id, count(*) over () as tenants from tenant as t where t.is_delivering) as t
      cross join lateral (
        select o.event_id, o.reason from outbox as o
        where o.tenant_id = t.id order by o.due_at limit greatest(p_looked_max / t.tenants, 1)
      ) as o
      where o.reason is distinct from 'paused' and not exists (select from found)
      order by o.event_id limit 1
    )
  ) as w (event_id, tenant_id, reason)
  order by 4 desc limit 1
$$;
