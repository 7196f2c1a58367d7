-- Looks up where an event goes and claims what is left to do for it; no row when there is no such tenant.
--
-- For each effect: null (the route has none), done, due (claimed for p_lease, until the lease ends) or busy (another
-- claim holds it). Whoever holds the lease says what became of it with actions.settle_effect. When he dies in between,
-- the lease ends and the effect is begun again, under the same event id.
create or replace function actions.begin_effects(p_event_id text, p_tenant text, p_lease uuid, p_lease_ms int)
returns table (
  sandbox boolean, has_route boolean, crm text, crm_url text, crm_secret text, crm_secret_before text, email text,
  email_address text, busy_ms int
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
  v_is_sandbox boolean;
  v_route actions.route;
begin
  select t.sandbox into v_is_sandbox from tenant as t where t.slug = p_tenant;
  if not found then
    return;
  end if;
  select r.* into v_route from tenant as t join actions.route as r on r.tenant_id = t.id where t.slug = p_tenant;

  -- Two claims at once: the second waits for the first one's row and then sees its lease.
  insert into actions.effect as e (event_id, effect, lease, lease_until)
  select p_event_id, w.effect, p_lease, v_now + make_interval(secs => p_lease_ms / 1000.0)
  from (values ('crm', v_route.crm_url), ('email', v_route.email)) as w (effect, target)
  where w.target is not null
  order by w.effect
  on conflict (event_id, effect) do update
    set lease = excluded.lease, lease_until = excluded.lease_until, attempts = e.attempts + 1
    where e.done_at is null and (e.lease is null or e.lease_until <= v_now);

  return query
  select
    v_is_sandbox, v_route.tenant_id is not null, s.crm, v_route.crm_url, v_route.crm_secret,
    case when v_route.crm_secret_before_until > v_now then v_route.crm_secret_before end,
    s.email, v_route.email, s.busy_ms
  from (
    select
      max(f.state) filter (where f.effect = 'crm'), max(f.state) filter (where f.effect = 'email'),
      max(extract(epoch from f.lease_until - v_now) * 1000) filter (where f.state = 'busy')::int
    from (
      select e.effect, e.lease_until, case
        when e.done_at is not null then 'done'
        when e.lease = p_lease then 'due'
        -- Begun once, and the route has it no longer.
        when e.effect = 'crm' and v_route.crm_url is null or e.effect = 'email' and v_route.email is null then null
        else 'busy'
      end
      from actions.effect as e where e.event_id = p_event_id
    ) as f (effect, lease_until, state)
  ) as s (crm, email, busy_ms);
end
$$;
