-- Sends a delivered event again under the same id, which receivers can recognize: all effects, or those of one kind.
-- The event is due at once and, as after a replay, the next refusal makes it dead. The call is audited. Outcome: sent |
-- waiting (pending or being sent) | already (attempted since p_seen) | dead | held | erased | sandbox | no_route |
-- no_effect (no route of that kind) | unknown.
--
-- p_seen: the number of the last attempt that the operator saw, or null for any, so that a button pressed twice sends
-- once. The event is locked first, so that of two concurrent calls, one returns sent and the other waiting.
create or replace function send_again(
  p_event_id text, p_effect text default null, p_seen int default null, p_origin text default 'ctl',
  p_claimed text default current_setting('lead_intake.claimed', true)
) returns text
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_event event;
  v_source text;
  v_form text;
  v_routes actions.route[];
  v_made int;
begin
  -- Locked so that no erasure occurs between this check and the insert into the outbox.
  select e.* into v_event from event as e where e.event_id = p_event_id for no key update;
  if not found then
    return 'unknown';
  elsif v_event.removed_at is not null then
    return 'erased';
  elsif (select t.sandbox from tenant as t where t.id = v_event.tenant_id) then
    return 'sandbox';
  elsif exists (
    select from submission as s where s.event_id = p_event_id and s.verdict <> 'clean' and s.released_at is null
  ) then
    return 'held';
  end if;
  -- One statement, because an event may move from one of the tables to the other.
  case (
    select case
      when exists (select from outbox as o where o.event_id = p_event_id) then 'waiting'
      when exists (select from dead_letter as d where d.event_id = p_event_id) then 'dead'
    end
  )
    when 'waiting' then return 'waiting';
    when 'dead' then return 'dead';
    else null;
  end case;
  select coalesce(max(a.number), 0) into v_made from attempt as a where a.event_id = p_event_id;
  if v_made <> p_seen then
    return 'already';
  end if;

  select k.label into v_source from api_key as k where k.id = v_event.key_id;
  select f.form_key into v_form
  from submission as s join form as f on f.id = s.form_id where s.event_id = p_event_id;
  v_routes := array(select r from actions.routes_for(v_event.tenant_id, v_source, coalesce(v_form, '')) as r);
  if v_routes = '{}' then
    return 'no_route';
  elsif p_effect is not null and not exists (select from unnest(v_routes) as r where r.kind = p_effect) then
    return 'no_effect';
  end if;

  -- Deletes the effects of removed routes, which would count as done for their kind.
  delete from actions.effect as f
  where f.event_id = p_event_id and f.effect = coalesce(p_effect, f.effect)
    and not exists (select from unnest(v_routes) as r where r.id = f.route_id);
  update actions.effect as f
  set round = f.round + 1, is_done = false, is_refused = false, progress = null, lease = null, lease_until = null,
    settled_at = null, reason = null, status = null, headers = null, answer = null, marked_by = null
  where f.event_id = p_event_id and f.effect = coalesce(p_effect, f.effect);
  -- Marks the effects for new recipients of the other kinds as done, so that these recipients get nothing.
  insert into actions.effect (event_id, route_id, effect, attempts, is_done, settled_at)
  select p_event_id, r.id, r.kind, 0, true, null
  from unnest(v_routes) as r
  where r.kind <> p_effect
  on conflict do nothing;

  -- The hour of an event that was marked as done may be final, without the event among the delivered ones.
  update hour_rolled as h set again_at = service_clock()
  where h.hour = date_trunc('hour', v_event.received_at, 'UTC')
    and exists (select from attempt as a where a.event_id = p_event_id and a.outcome = 'marked');
  insert into outbox (event_id, tenant_id, due_at, made, sent_before, is_replay, reason)
  values (p_event_id, v_event.tenant_id, service_clock(), v_made, v_made, true, 'sent_again');
  insert into outbox_tally (state, delta) values ('pending', 1);
  perform notify_outbox('');
  perform append_audit(
    p_origin, p_claimed, 'event.send_again', array[p_event_id],
    case when p_effect is not null then json_build_object('effect', p_effect) end
  );
  return 'sent';
end
$$;

-- The console's variant; p_claimed is the operator's name.
create or replace function console_send_again(p_event_id text, p_effect text, p_seen int, p_claimed text) returns text
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select send_again(p_event_id, p_effect, p_seen, 'console', p_claimed) $$;
