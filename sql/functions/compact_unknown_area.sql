-- Folds the sightings of each tenant's term into one row. Rows that another node is folding are left to it; a term that
-- nobody is left to have used (forget_unknown_area) goes.
create or replace function compact_unknown_area() returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  with folded as (
    delete from unknown_area_seen
    where ctid in (select ctid from unknown_area_seen for update skip locked)
    returning *
  )
  insert into unknown_area_seen (tenant_id, term, count, first_at, last_at)
  select tenant_id, term, sum(count), min(first_at), max(last_at) from folded group by tenant_id, term
  having sum(count) > 0;
$$;
