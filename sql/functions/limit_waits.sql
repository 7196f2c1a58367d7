-- Makes events due that wait longer than any may: their waits began before the clock was set back. p_wait_ms: the longest wait
-- that is scheduled. Changes at most p_limit events and returns how many.
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
  v_count int;
begin
  update outbox as o set due_at = v_now
  from (
    select l.place
    from tenant as t
    cross join lateral (
      select w.ctid as place from outbox as w
      where w.tenant_id = t.id and w.due_at > v_now + make_interval(secs => p_wait_ms / 1000.0)
      order by w.due_at desc
      limit p_limit
      for update skip locked
    ) as l
    limit p_limit
  ) as l
  where o.ctid = l.place;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
