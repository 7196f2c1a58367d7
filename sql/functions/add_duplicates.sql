-- Adds a process's counts of duplicates to the totals.
create or replace function add_duplicates(p_key_id int[], p_count int[]) returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  insert into duplicate_total as t (hour, key_id, count)
  select date_trunc('hour', service_clock(), 'UTC'), d.key_id, sum(d.count)
  from unnest(p_key_id, p_count) as d (key_id, count)
  group by 1, 2
  order by 1, 2
  on conflict (hour, key_id) do update set count = t.count + excluded.count;
$$;
