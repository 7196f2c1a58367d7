-- Records that a digest was sent (p_reason is null) or failed. A failed digest is retried after 1, 2, 4 … and at most 60
-- minutes, until the next day's digest is due, which covers both periods.
create or replace function actions.settle_digest(p_tenant_id int, p_route_id int, p_lease uuid, p_reason text)
returns void
language sql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  update actions.digest as d
  set lease = null, lease_until = null, reason = p_reason,
    due_at = case when p_reason is null then d.trying_at else d.due_at end,
    covered_until = case when p_reason is null then d.trying_until else d.covered_until end,
    next_at = case
      when p_reason is null then '-infinity'
      else service_clock() + least(interval '1 hour', interval '1 minute' * power(2, least(d.attempts - 1, 10)))
    end
  where d.tenant_id = p_tenant_id and d.route_id = p_route_id and d.lease = p_lease;
$$;
