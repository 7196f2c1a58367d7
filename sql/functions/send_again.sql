-- Has a delivered event sent once more, under the same id, by which a receiver can recognise the repeat: all its effects,
-- or those of one kind; the others stay done. It is due at once, and as with a replay the next refusal makes it dead.
-- Notes who did it. Returns what became of it: sent | waiting (it is on its way already) | already (it was sent since the
-- asker looked) | dead | held | erased | sandbox | no_route (nothing takes it) | no_effect (nothing of that kind does)
-- | unknown.
--
-- p_seen: the number of its last attempt, as the asker saw it; null sends it whatever came since. A page whose button is
-- pressed twice sends once by it, also when the first has been delivered between the two. Whoever asks twice at once is
-- told sent and waiting: the event is locked first.
create or replace function send_again(
  p_event_id text, p_effect text default null, p_seen int default null, p_way text default 'ctl',
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
  -- Locked, so that no erasure comes between this look at the content and the outbox row.
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
  -- In one statement: what moves from one to the other meanwhile is in one of them.
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

  -- What was done by a route that is gone would count as done for its kind.
  delete from actions.effect as f
  where f.event_id = p_event_id and f.effect = coalesce(p_effect, f.effect)
    and not exists (select from unnest(v_routes) as r where r.id = f.route_id);
  update actions.effect as f
  set round = f.round + 1, is_done = false, lease = null, lease_until = null,
    settled_at = null, reason = null, status = null, answer = null
  where f.event_id = p_event_id and f.effect = coalesce(p_effect, f.effect);
  -- Of the other kinds nobody new is told of it.
  insert into actions.effect (event_id, route_id, effect, attempts, is_done, settled_at)
  select p_event_id, r.id, r.kind, 0, true, null
  from unnest(v_routes) as r
  where r.kind <> p_effect
  on conflict do nothing;

  insert into outbox (event_id, tenant_id, due_at, made, sent_before, is_replay, reason)
  values (p_event_id, v_event.tenant_id, service_clock(), v_made, v_made, true, 'sent_again');
  insert into outbox_tally (state, delta) values ('pending', 1);
  perform notify_outbox('');
  perform append_audit(
    p_way, p_claimed, 'event.send_again', array[p_event_id],
    case when p_effect is not null then json_build_object('effect', p_effect) end
  );
  return 'sent';
end
$$;

-- The same from the console; p_claimed is the address that it was asked from.
create or replace function console_send_again(p_event_id text, p_effect text, p_seen int, p_claimed text) returns text
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select send_again(p_event_id, p_effect, p_seen, 'console', p_claimed) $$;
