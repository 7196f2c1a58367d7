-- Erases one event: content, collisions, outbox row or dead letter, and the reasons of attempts. Counted facts stay:
-- the event's time, key, flags and cost, the attempts, the collisions' counts.
--
-- One event per transaction: locks last milliseconds and never cover two events, so that it cannot deadlock with
-- batches. Lock order: event, submission, attempts, outbox and dead letter, collisions, effects.
--
-- Outcome: erased | gone (no event, or no content) | changed (a collision not in p_seen has come; nothing was done).
-- state: the delivery's state before. A send under way may still arrive once; its settlement only records the
-- attempt.
create or replace function erase_event(
  p_event_id text,
  p_seen bigint[],   -- the collisions that the caller has judged; null: all go
  p_kept bigint[]    -- another person's, which stay
)
returns table (outcome text, state text, collisions int)
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_event event;
  v_state text := 'delivered';
  v_found text;
  v_pending int := 0;
  v_dead int := 0;
  v_collisions int;
begin
  -- Not "for update": commits of collisions share the event's row.
  select e.* into v_event from event as e
  where e.event_id = p_event_id and e.removed_at is null
  for no key update;
  if not found then
    -- Collisions that an earlier erasure kept as another person's.
    v_collisions := remove_collisions(array(
      select c.id from collision as c
      where p_seen is null and c.event_id = p_event_id and c.content_digest is not null
      order by c.content_digest for no key update
    ));
    return query select 'gone', null::text, v_collisions;
    return;
  end if;
  if p_seen is not null
    and exists (
      select from collision as c
      where c.event_id = p_event_id and c.content_digest is not null and c.id <> all (p_seen)
    ) then
    return query select 'changed', null::text, 0;
    return;
  end if;

  update submission as s set phone = null, email = null, last_name = null
  where s.event_id = p_event_id
  returning case when s.verdict <> 'clean' and s.released_at is null then 'held' end into v_found;
  v_state := coalesce(v_found, v_state);

  update attempt as a set reason = null
  from (
    select a.number from attempt as a
    where a.event_id = p_event_id and a.reason is not null
    order by a.number for no key update
  ) as said
  where a.event_id = p_event_id and a.number = said.number;

  -- A settlement or a replay may move it between the two meanwhile; at any moment it is in one of them.
  loop
    delete from outbox as o where o.event_id = p_event_id
    returning case when o.lease_until > service_clock() then 'sending' else 'pending' end
    into v_found;
    if found then
      v_state := v_found;
      v_pending := v_pending + 1;
    end if;
    delete from dead_letter as d where d.event_id = p_event_id;
    if found then
      v_state := 'dead';
      v_dead := v_dead + 1;
    end if;
    exit when not exists (select from outbox as o where o.event_id = p_event_id)
      and not exists (select from dead_letter as d where d.event_id = p_event_id);
  end loop;
  -- Attempts of a settlement that was under way, whose row was waited for.
  update attempt as a set reason = null where a.event_id = p_event_id and a.reason is not null;
  insert into outbox_tally (state, delta)
  select t.state, -t.count from (values ('pending', v_pending), ('dead', v_dead)) as t (state, count)
  where t.count > 0;

  v_collisions := remove_collisions(array(
    select c.id from collision as c
    where c.event_id = p_event_id and c.id <> all (coalesce(p_kept, '{}')) and c.content_digest is not null
    order by c.content_digest for no key update
  ));
  -- The collision that it was accepted from holds its digest.
  perform remove_collisions(array(select c.id from collision as c where c.accepted_event_id = p_event_id));

  if v_event.kind = 'lead' and 'project_area_unknown' = any (v_event.flags) then
    perform forget_unknown_area(v_event.tenant_id, v_event.lead ->> 'project_area');
  end if;

  perform remove_content(array[p_event_id], 'erasure');

  return query select 'erased', v_state, v_collisions;
end
$$;

-- Erases a collision but not its event, which is another person's; false if its content was gone.
create or replace function erase_collision(p_id bigint) returns boolean
language plpgsql
as $$
begin
  return remove_collisions(array(
    select c.id from collision as c where c.id = p_id and c.content_digest is not null for no key update
  )) > 0;
end
$$;
