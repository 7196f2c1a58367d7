-- Removes content older than its tenant's retention, one bounded batch per call. Events that are pending, being sent or
-- dead are examined again an hour later (retention_deferred). Held submissions expire and can then no longer be released.
--
-- Returns how many events were examined, at most p_limit, and how many expired; if fewer than p_limit were examined,
-- no more are due. Returns nulls while another process is removing content.
create or replace function expire_content(p_limit int) returns table (examined int, removed int)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
-- Makes the planner scan a key's events in index order (event_key), without sorting all that are due.
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_retry constant interval := interval '1 hour';
  v_examined int := 0;
  v_removed int := 0;
  v_ids text[];
  v_due text[];
  v_removed_ids text[];
  v_key record;
begin
  if not pg_try_advisory_xact_lock(2, 0) then
    return query select null::int, null::int;
    return;
  end if;

  -- Deferred events are at most half of the batch, so that many dead letters do not block the others.
  select coalesce(array_agg(l.event_id), '{}'), coalesce(array_agg(l.event_id) filter (where l.is_due), '{}')
  into v_ids, v_due
  from (
    select l.event_id, l.event_id < event_id_at(v_now - make_interval(days => t.retention_days)) as is_due
    from (
      (select * from retention_deferred where retry_at <= v_now order by retry_at limit (p_limit + 1) / 2)
      union all
      -- From before the clock was set back.
      (select * from retention_deferred where retry_at > v_now + v_retry order by retry_at desc limit (p_limit + 1) / 2)
      limit (p_limit + 1) / 2
    ) as l
    join tenant as t on t.id = l.tenant_id
  ) as l;
  if v_ids <> '{}' then
    v_removed_ids := expire_events(v_due);
    v_examined := cardinality(v_ids);
    v_removed := cardinality(v_removed_ids);
    delete from retention_deferred as l
    where l.event_id = any (v_ids)
      and exists (select from event as e where e.event_id = l.event_id and e.removed_at is not null);
    update retention_deferred as l set retry_at = v_now + v_retry where l.event_id = any (v_ids);
  end if;

  -- A position beyond the retention was reached by a clock that was ahead, or that is behind now: events may have been passed.
  update retention_cursor as c set after_id = ''
  from api_key as k join tenant as t on t.id = k.tenant_id
  where c.key_id = k.id and c.after_id >= event_id_at(v_now - make_interval(days => t.retention_days));

  for v_key in
    select k.id, t.id as tenant_id, event_id_at(v_now - make_interval(days => t.retention_days)) as until_id,
      coalesce(c.after_id, '') as after_id
    from tenant as t
    join api_key as k on k.tenant_id = t.id
    left join retention_cursor as c on c.key_id = k.id
    where t.retention_days is not null
    order by c.examined_at nulls first, k.id
  loop
    exit when v_examined >= p_limit;
    select array_agg(n.event_id order by n.event_id) into v_ids
    from (
      -- Compared as rows; otherwise the planner may scan all events for a key with few.
      select e.event_id from event as e
      where (e.key_id, e.event_id) > (v_key.id, v_key.after_id) and (e.key_id, e.event_id) < (v_key.id, v_key.until_id)
      order by e.key_id, e.event_id limit p_limit - v_examined
    ) as n;
    continue when v_ids is null;

    v_removed_ids := expire_events(v_ids);
    v_examined := v_examined + cardinality(v_ids);
    v_removed := v_removed + cardinality(v_removed_ids);
    insert into retention_deferred (event_id, tenant_id, retry_at)
    select e.event_id, e.tenant_id, v_now + v_retry
    from event as e where e.event_id = any (v_ids) and e.removed_at is null
    on conflict do nothing;
    insert into retention_cursor (key_id, after_id, examined_at)
    values (v_key.id, v_ids[cardinality(v_ids)], v_now)
    on conflict (key_id) do update set after_id = excluded.after_id, examined_at = excluded.examined_at;
  end loop;

  -- Deletes terms that only expired leads used.
  if v_examined < p_limit then
    delete from unknown_area as u
    where u.ctid = any (array(
      select o.ctid
      from tenant as t
      cross join lateral (
        select o.ctid from unknown_area as o
        where o.tenant_id = t.id and o.last_at < v_now - make_interval(days => t.retention_days)
        limit p_limit
      ) as o
      where t.retention_days is not null
      limit p_limit
    ));
  end if;
  return query select v_examined, v_removed;
end
$$;

-- Removes the content of the events that are settled and not locked, and returns their ids.
create or replace function expire_events(p_event_id text[]) returns text[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_removed_ids text[];
begin
  -- The collisions that an erasure kept as another person's.
  perform remove_collisions(lock_collisions(array(
    select e.event_id from unnest(p_event_id) as i (event_id)
    cross join lateral (
      select e.event_id from event as e where e.event_id = i.event_id collate "C" and e.removed_at is not null offset 0
    ) as e
  )));
  -- Locked before checking the outbox, because releasing a held submission takes the same lock. Skips locked events,
  -- because accept locks events in another order.
  v_removed_ids := array(
    select e.event_id from event as e
    where e.event_id = any (p_event_id) and e.removed_at is null
    order by e.event_id for no key update skip locked
  );
  -- One statement, because an event may move from one of the tables to the other.
  v_removed_ids := array(
    select g.event_id from unnest(v_removed_ids) as g (event_id)
    where not exists (select from outbox as o where o.event_id = g.event_id collate "C")
      and not exists (select from dead_letter as d where d.event_id = g.event_id collate "C")
  );
  if v_removed_ids = '{}' then
    return v_removed_ids;
  end if;

  update submission as s set phone = null, email = null, name = null where s.event_id = any (v_removed_ids);
  update attempt as a set reason = null where a.event_id = any (v_removed_ids) and a.reason is not null;
  perform remove_collisions(lock_collisions(v_removed_ids));
  perform remove_content(v_removed_ids, 'retention');
  return v_removed_ids;
end
$$;

-- Locks the collisions with content that are with these events or became one of them, in the order of accept, and returns their ids.
create or replace function lock_collisions(p_event_id text[]) returns bigint[]
language sql volatile
set enable_seqscan = off
set enable_sort = on
as $$
  with found as materialized (
    -- Looked up one by one; otherwise the planner may read all collisions that have content.
    select c.id from unnest(p_event_id) as i (event_id)
    cross join lateral (
      select c.id from collision as c where c.event_id = i.event_id collate "C" and c.content_digest is not null
      union
      select c.id from collision as c where c.accepted_event_id = i.event_id collate "C" and c.content_digest is not null
      offset 0
    ) as c
  ),
  locked as (
    select c.id from collision as c where c.id = any (array(select f.id from found as f))
    order by c.event_id, c.content_digest for no key update
  )
  select coalesce(array_agg(l.id), '{}') from locked as l
$$;
