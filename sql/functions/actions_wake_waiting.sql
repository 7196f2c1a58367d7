-- Makes a tenant's events that wait for a route, for its CRM or for the end of a pause due at once: a thousand now, and the
-- others in batches (wake_waiting_events), because a million rows take longer than a statement may. p_is_resume: a pause
-- ended, so a suspension that begins meanwhile does not stop it (actions.settle_suspension).
create or replace function actions.wake_waiting(p_tenant_id int, p_is_resume boolean default false) returns void
language plpgsql
as $$
begin
  insert into actions.waking as w (tenant_id, started_at, seen_due_at, seen_event_id, is_resume)
  values (p_tenant_id, service_clock(), service_clock(), '', p_is_resume)
  on conflict (tenant_id) do update
    set started_at = excluded.started_at, seen_due_at = excluded.seen_due_at, seen_event_id = '',
      is_resume = w.is_resume or excluded.is_resume;
  perform actions.wake_batch(p_tenant_id, 1000);
end
$$;

-- Looks at a tenant's next p_limit events that are not due, and makes those that wait due. Skips rows that are being sent; they are
-- found again, because the search is repeated for half a minute. Returns how many rows were looked at.
create or replace function actions.wake_batch(p_tenant_id int, p_limit int) returns int
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := service_clock();
  v_waking actions.waking;
  v_seen record;
  v_woken int;
begin
  select w.* into v_waking from actions.waking as w where w.tenant_id = p_tenant_id for update skip locked;
  if not found then
    return 0;
  end if;
  with seen as materialized (
    select o.ctid as place, o.event_id, o.due_at from outbox as o
    where o.tenant_id = p_tenant_id and (o.due_at, o.event_id) > (v_waking.seen_due_at, v_waking.seen_event_id)
    order by o.due_at, o.event_id
    limit p_limit
  ),
  waiting as materialized (
    select o.ctid as place from seen as s join outbox as o on o.ctid = s.place
    -- Also if another effect failed meanwhile: "crm waiting: crm_unauthorized; email failed: …".
    where o.reason ~ '^(crm waiting: )?(no_route|crm_unauthorized|crm_suspended|crm_rate|recipe_unusable)(;|$)|(^|; )([a-z]+ waiting: )?paused(;|$)'
      and o.lease is null and o.due_at > v_now
    for update of o skip locked
  ),
  woken as (
    -- The pause has ended; every other reason holds until the next attempt.
    update outbox as o set due_at = v_now, reason = nullif(o.reason, 'paused')
    from waiting as w where o.ctid = w.place
    returning o.event_id
  )
  select
    (select count(*) from seen) as count, (select s.due_at from seen as s order by s.due_at desc, s.event_id desc limit 1) as due_at,
    (select s.event_id from seen as s order by s.due_at desc, s.event_id desc limit 1) as event_id,
    (select count(*) from woken) as woken
  into v_seen;
  if v_seen.count = p_limit then
    update actions.waking as w set seen_due_at = v_seen.due_at, seen_event_id = v_seen.event_id
    where w.tenant_id = p_tenant_id;
  elsif v_now > v_waking.started_at + interval '30 seconds' or v_now < v_waking.started_at then
    delete from actions.waking as w where w.tenant_id = p_tenant_id;
  else
    update actions.waking as w set seen_due_at = v_now, seen_event_id = '' where w.tenant_id = p_tenant_id;
  end if;
  if v_seen.woken > 0 then
    perform notify_outbox('');
  end if;
  return v_seen.count;
end
$$;

-- Goes on with the tenants whose waiting events are being made due: looks at p_limit rows, or one batch more, of 100 tenants.
create or replace function wake_waiting_events(p_limit int) returns int
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
  v_tenant_id int;
  v_left int := p_limit;
begin
  for v_tenant_id in select w.tenant_id from actions.waking as w order by w.started_at limit 100 loop
    v_left := v_left - actions.wake_batch(v_tenant_id, v_left);
    exit when v_left <= 0;
  end loop;
  return p_limit - v_left;
end
$$;
