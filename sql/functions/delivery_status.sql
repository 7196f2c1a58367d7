-- Returns delivery's status for the metrics: how long the first due delivery has been overdue, or 0, and how many live
-- tenants have pending events but no route. Paused tenants count as neither. Makes one index lookup per tenant.
create or replace function delivery_status()
returns table (overdue_seconds float8, unrouted_tenants int)
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
  select
    coalesce(max(greatest(0, extract(epoch from v_now - due.at))) filter (where t.is_delivering), 0)::float8,
    (count(*) filter (where not t.is_delivering and t.paused_at is null))::int
  from tenant as t
  cross join lateral (
    select o.due_at as at from outbox as o
    where o.tenant_id = t.id and coalesce(o.lease_until <= v_now, true)
    order by o.due_at limit 1
  ) as due;
end
$$;
