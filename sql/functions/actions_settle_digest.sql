-- Records a digest as sent (p_reason is null) or failed, with a word why. A failed one is retried after a minute,
-- then two, up to an hour, until the next day's, which covers both.
create or replace function actions.settle_digest(p_tenant_id int, p_route_id int, p_lease uuid, p_reason text)
returns void
language sql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  update actions.digest as d
  set lease = null, lease_until = null, reason = p_reason,
    due_at = case when p_reason is null then d.trying_at else d.due_at end,
    told_until = case when p_reason is null then d.trying_until else d.told_until end,
    next_at = case
      when p_reason is null then '-infinity'
      else service_clock() + least(interval '1 hour', interval '1 minute' * power(2, least(d.attempts - 1, 10)))
    end
  where d.tenant_id = p_tenant_id and d.route_id = p_route_id and d.lease = p_lease;
$$;
