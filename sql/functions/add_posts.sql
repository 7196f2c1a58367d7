-- Logs a process's posts that made no event, up to 10,000 a key and day (UTC). p_posts is a JSON array; age_ms is the
-- time since the post. Returns the keys of which no more is logged today, and the time until the next day.
--
-- While content is being removed, waits (remove_content), so that the identifiers of removed events are not stored again.
create or replace function add_posts(p_posts text) returns table (key_id int, opens_in_ms int)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
-- Ends before the caller gives up and keeps the posts, which would otherwise be logged twice.
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_day_max constant int := 10000;
  v_now constant timestamptz := service_clock();
  v_day constant date := (v_now at time zone 'UTC')::date;
  v_full int[];
begin
  perform pg_advisory_xact_lock(5, 0);
  with post as materialized (
    select p.*, p.ord::int as place, v_now - make_interval(secs => greatest(p.age_ms, 0) / 1000.0) as at,
      row_number() over (partition by p.key_id order by p.ord) as nth,
      count(*) over (partition by p.key_id) as of
    from rows from (
      json_to_recordset(p_posts::json) as (
        key_id int, age_ms float8, request_id text, status smallint, error text, fields json, idempotency_key text,
        event_id text, is_collision boolean
      )
    ) with ordinality as p (key_id, age_ms, request_id, status, error, fields, idempotency_key, event_id, is_collision, ord)
    join api_key as k on k.id = p.key_id
  ),
  -- In the order of other processes, to prevent deadlocks.
  counted as (
    insert into post_log_day as d (day, key_id, offered)
    select v_day, p.key_id, count(*) from post as p group by p.key_id order by p.key_id
    on conflict (day, key_id) do update set offered = d.offered + excluded.offered
    returning d.key_id, d.offered
  ),
  -- Not null, so that the pattern is matched only during an erasure; it costs more than the insert.
  watched as (select coalesce(max(t.posted_until), '-infinity') as until from tombstone as t),
  added as (
    insert into post_log (id, key_id, at, request_id, status, error, fields, idempotency_key, event_id, is_collision)
    select new_event_id(event_id_at(p.at), p.place), p.key_id, p.at,
      case when not h.is_hidden and not may_name_person(p.request_id, p.at <= w.until) then p.request_id end,
      p.status, p.error, p.fields,
      case when not h.is_hidden and not may_name_person(p.idempotency_key, p.at <= w.until) then p.idempotency_key end,
      p.event_id, coalesce(p.is_collision, false)
    from post as p
    join counted as c on c.key_id = p.key_id
    cross join watched as w
    -- Not "exists", for which the planner may read all removed events.
    cross join lateral (
      select (select e.removed_at from event as e where e.event_id = p.event_id collate "C") is not null as is_hidden
      offset 0
    ) as h
    where p.nth <= v_day_max - (c.offered - p.of)
  )
  select array_agg(c.key_id) into v_full from counted as c where c.offered >= v_day_max;
  return query
  select k, ceil(extract(epoch from (v_day + 1)::timestamp at time zone 'UTC' - v_now) * 1000)::int
  from unnest(v_full) as k;
end
$$;

-- Whether an identifier is not logged, because a person is being erased and it may contain an address or a number
-- (src/lead/person.ts).
create or replace function may_name_person(p_text text, p_is_watched boolean) returns boolean
language sql immutable
as $$ select p_is_watched and coalesce(p_text ~ '[@%]|[^ -~]|([0-9][^0-9A-Za-z]*){7}', false) $$;
