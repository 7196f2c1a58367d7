-- Finds an event's routes and claims the effects that are not done. Returns one row per recipient, no row for an unknown
-- tenant, and one row without an effect if no route receives the event. p_form is '' for a lead.
--
-- p_recipe_lease_ms: the lease for a CRM recipe, which makes several requests; by default, p_lease_ms.
--
-- State: done, refused (for good), due (claimed by this call until the lease ends), busy (claimed under another lease, for
-- wait_ms) or waiting (an operator paused the tenant or this kind of destination, or the CRM route is suspended; the event
-- should be sent again after wait_ms). The first three columns
-- describe the tenant. A done effect whose route was removed has no address. Settle the lease with actions.settle_effect;
-- otherwise, the effect can be claimed again when the lease has ended.
create or replace function actions.begin_effects(
  p_event_id text, p_tenant text, p_source text, p_form text, p_lease uuid, p_lease_ms int,
  p_recipe_lease_ms int default null
)
returns table (
  sandbox boolean, name text, time_zone text,
  effect text, route_id int, round int, state text, wait_ms int, reason text, address text, secret text, secret_before text,
  recipe json, progress text
)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
-- A plan made while the table is empty would scan the table forever.
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_lease constant interval := make_interval(secs => greatest(p_lease_ms, p_recipe_lease_ms) / 1000.0);
  v_late constant timestamptz := v_now + 2 * v_lease;
  v_tenant tenant;
  -- The suspended CRM route, unless this event tries it.
  v_waiting_id int;
  v_reason text;
  v_wait_ms int;
  -- The paused kinds of destination; null if all are.
  v_paused text[];
  -- When a pause ends, its events are woken; this is only for those that were missed.
  v_pause_ms constant int := 3600000;
begin
  perform ensure_synchronous_commit();
  select t.* into v_tenant from tenant as t where t.slug = p_tenant;
  if not found then
    return;
  end if;

  if v_tenant.paused_at is null then
    v_paused := array(select p.kind from actions.pause as p where p.tenant_id = v_tenant.id);
  end if;
  select w.route_id, w.reason, w.wait_ms into v_waiting_id, v_reason, v_wait_ms
  from actions.routes_for(v_tenant.id, p_source, p_form) as r
  cross join lateral actions.await_try(v_tenant.id, r.id, p_event_id) as w
  where r.settings is not null and r.kind <> all (v_paused);

  -- A concurrent claim of the same effect waits for this row and then sees this lease.
  insert into actions.effect as e (event_id, route_id, effect, attempts, lease, lease_until, reason)
  select
    p_event_id, r.id, r.kind, (w.reason is null)::int, case when w.reason is null then p_lease end,
    case when w.reason is null then
      v_now + make_interval(secs => case when r.settings is null then p_lease_ms else coalesce(p_recipe_lease_ms, p_lease_ms) end / 1000.0)
    end,
    w.reason
  from actions.routes_for(v_tenant.id, p_source, p_form) as r
  cross join lateral (
    select case when r.kind <> all (v_paused) then case when r.id = v_waiting_id then v_reason end else 'paused' end
  ) as w (reason)
  -- A kind with one recipient stays done even if the route was replaced later.
  where r.kind = 'email' or not exists (
    select from actions.effect as d
    where d.event_id = p_event_id and d.effect = r.kind and d.is_done and d.route_id <> r.id
  )
  order by r.id
  on conflict (event_id, route_id) do update
    -- A lease that ends later than any can was taken before the clock was set back: it is shortened, as in claim_outbox.
    set lease = case when e.lease_until > v_late then e.lease else excluded.lease end,
      lease_until = case when e.lease_until > v_late then coalesce(excluded.lease_until, v_now + v_lease) else excluded.lease_until end,
      attempts = e.attempts + case when e.lease_until > v_late then 0 else excluded.attempts end,
      -- The reason belongs to the stored response, if there is one.
      reason = case when e.settled_at is null then coalesce(excluded.reason, e.reason) else e.reason end
    where not e.is_done and not e.is_refused and (e.lease is null or e.lease_until <= v_now or e.lease_until > v_late);

  -- Reads the routes again: a concurrently added route has no effect yet, and the lease of a removed route expires.
  -- Rejected: an array of the routes, which took 30 % more processor time.
  return query
  select
    v_tenant.sandbox, v_tenant.name, v_tenant.time_zone, e.effect, e.route_id, e.round,
    case
      when e.is_done then 'done'
      when e.is_refused then 'refused'
      when e.lease = p_lease then 'due'
      when e.lease is null and (w.is_paused or e.route_id = v_waiting_id) then 'waiting'
      when e.effect is not null then 'busy'
    end,
    coalesce((extract(epoch from e.lease_until - v_now) * 1000)::int, case when w.is_paused then v_pause_ms else v_wait_ms end),
    case when e.is_refused then e.reason when w.is_paused then 'paused' when e.route_id = v_waiting_id then v_reason end,
    r.address, r.secret, case when r.secret_before_until > v_now then r.secret_before end,
    case when r.settings is not null then actions.recipe_of(r) end, e.progress
  from (select) as always
  left join (
    actions.effect as e left join actions.routes_for(v_tenant.id, p_source, p_form) as r on r.id = e.route_id
  )
    on e.event_id = p_event_id and (e.is_done or r.kind is not null)
  cross join lateral (select coalesce(e.effect = any (v_paused), v_paused is null) as is_paused) as w
  order by e.route_id;
end
$$;
