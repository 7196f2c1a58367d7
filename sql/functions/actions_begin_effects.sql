-- Looks up where an event goes and claims what is left to do for it: a row an effect, one a recipient; no row when there
-- is no such tenant, one row without an effect when there is none.
--
-- An effect is done, due (claimed for p_lease, until the lease ends) or busy (another claim holds it, for so long yet).
-- The first columns are the tenant's, the same in each row. One that was done before its route was taken away is told
-- too, without an address. Whoever holds the lease says what became of it with actions.settle_effect. When he dies in
-- between, the lease ends and the effect is begun again, under the same event id.
--
-- p_form: '' for a lead.
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
-- Planned while the table is empty, it would go on scanning it whole.
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

  -- Two claims at once: the second waits for the first one's row and then sees its lease.
  insert into actions.effect as e (event_id, route_id, effect, lease, lease_until)
  select p_event_id, r.id, r.kind, p_lease, v_now + make_interval(secs => p_lease_ms / 1000.0)
  from actions.routes_for(v_tenant.id, p_source, p_form) as r
  -- Where there is one recipient, done is done, also when the route was taken away and another one made since.
  where r.kind = 'email' or not exists (
    select from actions.effect as d
    where d.event_id = p_event_id and d.effect = r.kind and d.is_done and d.route_id <> r.id
  )
  order by r.id
  on conflict (event_id, route_id) do update
    set lease = excluded.lease, lease_until = excluded.lease_until, attempts = e.attempts + 1
    where not e.is_done and (e.lease is null or e.lease_until <= v_now);

  -- The route is read anew. What was added meanwhile has no effect yet and is left out; so is what was taken away,
  -- whose lease ends by itself. Kept in an array between the two, the route took 30 % more processor time.
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
