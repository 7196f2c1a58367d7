-- Folds the changes of outbox_tally into one row a state. Rows that another node is folding are left to it.
create or replace function compact_outbox_tally() returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  with folded as (
    delete from outbox_tally
    where ctid in (select ctid from outbox_tally for update skip locked)
    returning state, delta
  )
  insert into outbox_tally (state, delta)
  select state, sum(delta) from folded group by state;
$$;
