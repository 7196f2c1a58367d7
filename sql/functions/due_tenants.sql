-- The tenants that have something due, as the backstop of the wake-ups. A live tenant without a route is not among
-- them: its rows wait and spend nothing until it has one.
--
-- "limit 1" and not "exists", which the planner makes a hash join of that reads every row that waits.
--
-- p_floor: nothing of that tenant is due before it (see claim_outbox); the other tenants are looked at whole.
create or replace function due_tenants(p_tenant_id int[] default '{}', p_floor text[] default '{}')
returns table (tenant_id int)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := service_clock();
begin
  return query
  select t.id from tenant as t
  left join unnest(p_tenant_id, p_floor::timestamptz[]) as f (id, since) on f.id = t.id
  cross join lateral (
    select from outbox as o
    where o.tenant_id = t.id and o.due_at >= coalesce(f.since, '-infinity') and o.due_at <= v_now
      and coalesce(o.lease_until <= v_now, true)
    order by o.due_at limit 1
  ) as due
  where t.sandbox or t.has_route;
end
$$;
