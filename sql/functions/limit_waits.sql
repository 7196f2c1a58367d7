-- Makes events due whose waits began before the clock was set back: those that wait longer than p_wait_ms, the longest wait
-- that is scheduled, and those whose last attempt or, if there was none, acceptance is in the future. Looks at up to p_limit events
-- of each tenant, those that wait longest first, changes at most p_limit, and returns how many.
create or replace function limit_waits(p_wait_ms float8, p_limit int) returns int
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_now constant timestamptz := service_clock();
  -- Any clock that was ahead for a minute has left a sample. Otherwise, waiting events are not looked at one by one.
  v_was_ahead constant boolean := coalesce((select max(s.at) from minute_sample as s) > v_now, false)
    or coalesce((select max(e.event_id) from event as e) > event_id_at(v_now), false);
  v_until constant timestamptz := v_now + make_interval(secs => p_wait_ms / 1000.0);
  v_from constant timestamptz := case when v_was_ahead then v_now else v_until end;
  v_count int;
begin
  update outbox as o set due_at = v_now
  from (
    select l.place
    from tenant as t
    cross join lateral (
      select w.* from (
        select o.ctid as place, o.event_id, o.made, o.lease, o.due_at from outbox as o
        where o.tenant_id = t.id and o.due_at > v_from
        order by o.due_at desc
        limit p_limit
        for update skip locked
      ) as w
      where w.due_at > v_until
        -- It was due when it was claimed.
        or w.lease is not null
        -- A wait that began since would end earlier.
        or (w.made = 0 and w.event_id > event_id_at(v_now) and w.due_at >= event_id_time(w.event_id))
        -- Not "exists", for which the planner may read all attempts.
        or (select a.at from attempt as a where a.event_id = w.event_id collate "C" and a.number = w.made) > v_now
    ) as l
    limit p_limit
  ) as l
  where o.ctid = l.place;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
