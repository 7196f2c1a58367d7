-- Marks effects as done, so that delivery skips them: effects that were done after the point to which the database was
-- restored (ctl restored), or that an operator reports as done. p_event_id and p_effect are pairs; a null effect stands
-- for all kinds of the event's routes. p_by: as marked_by in actions.effect. Returns the events with an effect that was not done
-- before.
create or replace function mark_effects_done(p_event_id text[], p_effect text[], p_by text default '')
returns table (event_id text)
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  with done as (
    insert into actions.effect as f (event_id, route_id, effect, attempts, is_done, settled_at, marked_by)
    select distinct on (e.event_id, r.id) e.event_id, r.id, r.kind, 0, true, service_clock(), p_by
    from unnest(p_event_id, p_effect) as p (event_id, effect)
    join event as e on e.event_id = p.event_id collate "C"
    join api_key as k on k.id = e.key_id
    left join submission as s on s.event_id = e.event_id
    left join form as o on o.id = s.form_id
    cross join lateral actions.routes_for(e.tenant_id, k.label, coalesce(o.form_key, '')) as r
    where r.kind = coalesce(p.effect, r.kind)
    order by e.event_id, r.id
    on conflict (event_id, route_id) do update
      set is_done = true, is_refused = false, lease = null, lease_until = null, settled_at = excluded.settled_at, reason = null,
        marked_by = excluded.marked_by
      where not f.is_done
    returning f.event_id
  )
  select distinct d.event_id from done as d order by 1;
end
$$;

-- Settles dead letters that the customer already has: marks all their effects as done and records an attempt with the outcome
-- marked. Nothing is sent. Audits this and returns the events that were dead.
create or replace function settle_dead_as_done(p_event_id text[]) returns table (event_id text)
language plpgsql
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_claimed text := current_setting('lead_intake.claimed', true);
  v_dead text[];
begin
  with removed as (
    delete from dead_letter as d where d.event_id = any (p_event_id) returning d.event_id
  ),
  recorded as (
    insert into attempt (event_id, number, at, outcome, spent)
    select
      r.event_id, coalesce((select max(a.number) from attempt as a where a.event_id = r.event_id), 0) + 1, service_clock(),
      'marked', false
    from removed as r
  )
  select coalesce(array_agg(r.event_id order by r.event_id), '{}') into v_dead from removed as r;

  if v_dead <> '{}' then
    perform mark_effects_done(
      v_dead, array_fill(null::text, array[cardinality(v_dead)]), left(coalesce(nullif(v_claimed, ''), 'an operator'), 200)
    );
    insert into outbox_tally (state, delta) values ('dead', -cardinality(v_dead));
    perform append_audit('ctl', v_claimed, 'dead.done', v_dead, null);
  end if;
  return query select unnest(v_dead);
end
$$;
