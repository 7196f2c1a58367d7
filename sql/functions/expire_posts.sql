-- Deletes up to p_limit logged posts that are older than 30 days, and returns how many.
create or replace function expire_posts(p_limit int) returns int
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  v_count int;
  -- Constants, because service_clock() is volatile: in a condition, it would be evaluated for every row.
  v_now constant timestamptz := service_clock();
  v_before constant text := event_id_at(v_now - interval '30 days');
begin
  delete from post_log as p
  where p.id = any (array(
    select o.id from post_log as o
    where o.id < v_before
    order by o.id limit p_limit for update skip locked
  ));
  get diagnostics v_count = row_count;
  -- A day in the future was counted before the clock was set back.
  delete from post_log_day as d where d.day not between (v_now at time zone 'UTC')::date - 1 and (v_now at time zone 'UTC')::date + 1;
  return v_count;
end
$$;
