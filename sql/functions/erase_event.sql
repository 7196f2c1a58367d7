-- Erases one event: content, collisions, outbox row or dead letter, and the attempts' reasons. The facts that reports
-- count stay: the event's time, key, flags and cost, the attempts, and the collisions' counts.
--
-- One event per transaction: locks last milliseconds and never cover two events, so that erasures cannot deadlock with
-- batches. Lock order: event, submission, attempts, outbox and dead letter, collisions, effects.
--
-- Outcome: erased | gone (no event, or no content) | changed (a collision is not in p_seen; nothing was erased). state:
-- the delivery's previous state. A send in progress may still arrive; its settlement only records the attempt.
create or replace function erase_event(
  p_event_id text,
  p_seen bigint[],   -- the collisions that the caller has reviewed; null: erase all
  p_kept bigint[]    -- another person's collisions, which stay
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
  -- Not "for update", which would conflict with the row locks that inserts of collisions take.
  select e.* into v_event from event as e
  where e.event_id = p_event_id and e.removed_at is null
  for no key update;
  if not found then
    -- Erases collisions that an earlier erasure kept as another person's.
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

  update submission as s set phone = null, email = null, name = null
  where s.event_id = p_event_id
  returning case when s.verdict <> 'clean' and s.released_at is null then 'held' end into v_found;
  v_state := coalesce(v_found, v_state);

  update attempt as a set reason = null
  from (
    select a.number from attempt as a
    where a.event_id = p_event_id and a.reason is not null
    order by a.number for no key update
  ) as r
  where a.event_id = p_event_id and a.number = r.number;

  -- A concurrent settlement or replay may move the event from one of the tables to the other.
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
  -- A concurrent settlement may have added attempts.
  update attempt as a set reason = null where a.event_id = p_event_id and a.reason is not null;
  insert into outbox_tally (state, delta)
  select t.state, -t.count from (values ('pending', v_pending), ('dead', v_dead)) as t (state, count)
  where t.count > 0;

  v_collisions := remove_collisions(array(
    select c.id from collision as c
    where c.event_id = p_event_id and c.id <> all (coalesce(p_kept, '{}')) and c.content_digest is not null
    order by c.content_digest for no key update
  ));
  -- If the event was accepted from a collision, that collision contains the digest of the content.
  perform remove_collisions(array(select c.id from collision as c where c.accepted_event_id = p_event_id));

  if 'project_area_unknown' = any (v_event.flags) then
    -- As in remove_content: the term is counted when the event is indexed.
    perform pg_advisory_xact_lock_shared(4, 0);
    perform forget_unknown_area(v_event.tenant_id, v_event.lead ->> 'project_area')
    from search_entry as s where s.ref = p_event_id;
  end if;

  perform remove_content(array[p_event_id], 'erasure');

  return query select 'erased', v_state, v_collisions;
end
$$;

-- Erases a collision but not its event, which is another person's; returns false if its content was removed earlier.
create or replace function erase_collision(p_id bigint) returns boolean
language plpgsql
as $$
begin
  return remove_collisions(array(
    select c.id from collision as c where c.id = p_id and c.content_digest is not null for no key update
  )) > 0;
end
$$;
