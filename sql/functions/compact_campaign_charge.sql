-- Folds the charges of each campaign into one row. Rows that another node is folding are left to it.
create or replace function compact_campaign_charge() returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  with folded as (
    delete from campaign_charge
    where ctid in (select ctid from campaign_charge for update skip locked)
    returning campaign_id, cents
  )
  insert into campaign_charge (campaign_id, cents)
  select campaign_id, sum(cents) from folded group by campaign_id;
$$;
