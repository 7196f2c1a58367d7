-- Decides what an outcome (done | failed | refused | waiting) means for a CRM route and its event, and returns the event's own
-- outcome:
--
-- - A success ends the suspension of its route and wakes the waiting events.
-- - The fifth event in a row that is refused suspends the route, because then the route is at fault. From then on, refused events
--   wait.
-- - An event that is unauthorized suspends the route at once, and waits. If it was unauthorized before, and others succeeded since,
--   the event is at fault, not the route: it fails.
--
-- p_changed_at: the version of the route that sent the event. An outcome of an earlier version says nothing about this one, so the
-- event is sent again.
create or replace function actions.settle_suspension(
  p_tenant_id int, p_route_id int, p_event_id text, p_outcome text, p_reason text, p_changed_at text
)
returns table (outcome text, reason text, wait_ms int)
language plpgsql
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_suspension actions.suspension;
  v_is_refused boolean := p_outcome = 'refused';
  v_reason text;
  -- Chosen: five, so that one wrong setting does not cost a night's leads (DECISIONS, CRM).
  v_refused_max constant int := 5;
begin
  if p_outcome = 'done' then
    update actions.suspension as s
    set reason = null, since = null, refused = '{}', resumed_at = v_now, queued_until = '-infinity'
    from (
      select b.reason from actions.suspension as b
      where b.tenant_id = p_tenant_id and b.route_id = p_route_id and (b.reason is not null or b.refused <> '{}')
      for update
    ) as b
    where s.tenant_id = p_tenant_id and s.route_id = p_route_id
    returning b.reason into v_reason;
    if v_reason is not null then
      perform actions.wake_waiting(p_tenant_id);
    end if;
  elsif v_is_refused or p_reason = 'crm_unauthorized' then
    if not exists (
      select from actions.route as r
      where r.tenant_id = p_tenant_id and r.id = p_route_id and r.changed_at::text = p_changed_at
    ) then
      return query select 'waiting', 'crm_unfinished', 1000;
      return;
    end if;
    insert into actions.suspension as s (tenant_id, route_id) values (p_tenant_id, p_route_id)
    on conflict (tenant_id, route_id) do update set event_id = s.event_id
    returning s.* into v_suspension;
    if not v_is_refused and exists (
      select from actions.effect as e
      where e.event_id = p_event_id and e.route_id = p_route_id and e.reason = 'crm_unauthorized'
        and e.settled_at < v_suspension.resumed_at
        -- A time further ahead was set before the clock was moved back.
        and v_suspension.resumed_at <= v_now
    ) then
      return query select 'failed', 'crm_unauthorized', null::int;
      return;
    end if;
    -- A CRM that refuses an event has accepted the credentials.
    v_reason := case
      when not v_is_refused then 'crm_unauthorized'
      when cardinality(v_suspension.refused) >= v_refused_max then 'crm_suspended'
      when cardinality(v_suspension.refused) = v_refused_max - 1 and p_event_id <> all (v_suspension.refused) then 'crm_suspended'
    end;
    update actions.suspension as s
    set event_id = p_event_id, reason = v_reason,
      refused = case
        when v_is_refused and p_event_id <> all (s.refused) and cardinality(s.refused) < v_refused_max
        then s.refused || p_event_id else s.refused
      end,
      since = case when v_reason is not null then coalesce(s.since, v_now) end,
      queued_until = case when v_reason is not null then s.queued_until else '-infinity' end,
      try_at = case when s.reason is null then v_now + interval '50 seconds' else s.try_at end
    where s.tenant_id = p_tenant_id and s.route_id = p_route_id;
    if v_reason is null and v_suspension.reason is not null then
      perform actions.wake_waiting(p_tenant_id);
    elsif v_reason is not null and v_suspension.reason is null then
      -- Events that wait again are not woken again, which would cost them their place in the queue of tries; unless a pause
      -- ended, or another route's events are being woken too.
      delete from actions.waking as w
      where w.tenant_id = p_tenant_id and not w.is_resume and not exists (
        select from actions.route as r
        where r.tenant_id = p_tenant_id and r.id <> p_route_id and r.settings is not null
      );
    end if;
    if not v_is_refused or cardinality(v_suspension.refused) >= v_refused_max then
      return query select 'waiting', v_reason, actions.queue_try(p_tenant_id, p_route_id);
      return;
    end if;
  end if;
  return query select p_outcome, p_reason, null::int;
end
$$;
