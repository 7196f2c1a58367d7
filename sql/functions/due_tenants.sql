-- Returns the tenants with due rows, except those whose rows are not claimed (tenant.is_delivering). p_floor and
-- p_lease_ms are as in claim_outbox; tenants without a floor are scanned from the start.
--
-- Uses "limit 1" instead of "exists", which the planner would turn into a hash join over all pending rows.
create or replace function due_tenants(p_tenant_id int[], p_floor text[], p_lease_ms int)
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
    where o.tenant_id = t.id and o.due_at >= case when f.since <= v_now then f.since else '-infinity' end
      and o.due_at <= v_now
      and coalesce(o.lease_until <= v_now or o.lease_until > v_now + 2 * make_interval(secs => p_lease_ms / 1000.0), true)
    order by o.due_at limit 1
  ) as due
  where t.is_delivering;
end
$$;
