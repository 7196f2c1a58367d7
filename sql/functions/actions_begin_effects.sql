-- Finds an event's routes and claims its pending effects: one row per recipient; no row for an unknown tenant, one
-- row without an effect if nothing takes the event. p_form is '' for a lead.
--
-- An effect is done, due (claimed until the lease ends) or busy (claimed by another, for busy_ms). The first columns
-- are the tenant's. An effect done before its route was removed is listed without an address. Settle the lease with
-- actions.settle_effect; if its holder dies, the effect starts again after the lease, with the same event id.
create or replace function actions.begin_effects(
  p_event_id text, p_tenant text, p_source text, p_form text, p_lease uuid, p_lease_ms int
)
returns table (
  sandbox boolean, name text, time_zone text,
  effect text, route_id int, round int, state text, busy_ms int, address text, secret text, secret_before text
)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
-- A plan made while the table is empty would keep scanning it.
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_tenant tenant;
begin
  perform ensure_synchronous_commit();
  select t.* into v_tenant from tenant as t where t.slug = p_tenant;
  if not found then
    return;
  end if;

  -- A concurrent claim waits for the first one's row and then sees its lease.
  insert into actions.effect as e (event_id, route_id, effect, lease, lease_until)
  select p_event_id, r.id, r.kind, p_lease, v_now + make_interval(secs => p_lease_ms / 1000.0)
  from actions.routes_for(v_tenant.id, p_source, p_form) as r
  -- A kind with one recipient stays done even if its route was replaced since.
  where r.kind = 'email' or not exists (
    select from actions.effect as d
    where d.event_id = p_event_id and d.effect = r.kind and d.is_done and d.route_id <> r.id
  )
  order by r.id
  on conflict (event_id, route_id) do update
    set lease = excluded.lease, lease_until = excluded.lease_until, attempts = e.attempts + 1
    where not e.is_done and (e.lease is null or e.lease_until <= v_now);

  -- Reads the routes again: ones added meanwhile have no effect yet, and the leases of removed ones expire. Keeping
  -- the routes in an array took 30 % more processor time.
  return query
  select
    v_tenant.sandbox, v_tenant.name, v_tenant.time_zone, e.effect, e.route_id, e.round,
    case
      when e.is_done then 'done'
      when e.lease = p_lease then 'due'
      when e.effect is not null then 'busy'
    end,
    (extract(epoch from e.lease_until - v_now) * 1000)::int,
    r.address, r.secret, case when r.secret_before_until > v_now then r.secret_before end
  from (select) as always
  left join (
    actions.effect as e left join actions.routes_for(v_tenant.id, p_source, p_form) as r on r.id = e.route_id
  )
    on e.event_id = p_event_id and (e.is_done or r.kind is not null)
  order by e.route_id;
end
$$;
