-- Aggregates the insert-only counts: outbox_tally to one row per state, campaign_charge to one per campaign. Rows that are
-- aggregated already are only read, and those that another process is aggregating are skipped.
create or replace function fold_counts() returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  with folded as (
    delete from outbox_tally
    where ctid in (
      select t.ctid from outbox_tally as t
      where t.state in (select s.state from outbox_tally as s group by s.state having count(*) > 1)
      for update skip locked
    )
    returning state, delta
  )
  insert into outbox_tally (state, delta)
  select state, sum(delta) from folded group by state;

  with folded as (
    delete from campaign_charge
    where ctid in (
      select c.ctid from campaign_charge as c
      where c.campaign_id in (select s.campaign_id from campaign_charge as s group by s.campaign_id having count(*) > 1)
      for update skip locked
    )
    returning campaign_id, cents, credit_cents
  )
  insert into campaign_charge (campaign_id, cents, credit_cents)
  select campaign_id, sum(cents), sum(credit_cents) from folded group by campaign_id;
$$;
