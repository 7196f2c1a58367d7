-- While a CRM route is suspended, lets one event a minute try it. Returns no row if this event may be sent; otherwise, one row:
-- why it waits, and when it should be sent again.
create or replace function actions.await_try(p_tenant_id int, p_route_id int, p_event_id text)
returns table (route_id int, reason text, wait_ms int)
language plpgsql
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_reason text;
begin
  -- Not for a done or refused effect, which is not sent.
  if not exists (
    select from actions.suspension as s
    where s.tenant_id = p_tenant_id and s.route_id = p_route_id and s.reason is not null
  ) or exists (
    select from actions.effect as e
    where e.event_id = p_event_id and e.route_id = p_route_id and (e.is_done or e.is_refused)
  ) then
    return;
  end if;
  -- Slightly less than a minute, so that an event that is a little late does not lose its turn.
  update actions.suspension as s set try_at = v_now + interval '50 seconds'
  where s.tenant_id = p_tenant_id and s.route_id = p_route_id and s.reason is not null
    -- A time further ahead was set before the clock was moved back.
    and (s.try_at <= v_now or s.try_at > v_now + interval '50 seconds');
  if found then
    return;
  end if;
  select s.reason into v_reason
  from actions.suspension as s
  where s.tenant_id = p_tenant_id and s.route_id = p_route_id;
  if v_reason is not null then
    return query select p_route_id, v_reason, actions.queue_try(p_tenant_id, p_route_id);
  end if;
end
$$;

-- Gives an event the next place in the queue of tries, one a minute. Returns the wait in milliseconds. Events for which the
-- queue is too long wait for 8 to 15 minutes and then ask again.
create or replace function actions.queue_try(p_tenant_id int, p_route_id int) returns int
language sql volatile
as $$
  update actions.suspension as s
  set queued_until = case
    when s.queued_until > service_clock() + interval '15 minutes' then service_clock() + interval '1 minute'
    when s.queued_until > service_clock() + interval '14 minutes' then s.queued_until
    else greatest(s.queued_until, service_clock()) + interval '1 minute'
  end
  where s.tenant_id = p_tenant_id and s.route_id = p_route_id
  returning case
    when s.queued_until > service_clock() + interval '14 minutes' then (480000 + random() * 420000)::int
    else (extract(epoch from s.queued_until - service_clock()) * 1000)::int
  end;
$$;
