-- Aggregates the insert-only counts: outbox_tally to one row per state, campaign_charge per campaign, unknown_area_seen
-- per tenant and term, without terms whose count is 0. Skips rows that another process is aggregating.
create or replace function fold_counts() returns void
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

  with folded as (
    delete from campaign_charge
    where ctid in (select ctid from campaign_charge for update skip locked)
    returning campaign_id, cents, credit_cents
  )
  insert into campaign_charge (campaign_id, cents, credit_cents)
  select campaign_id, sum(cents), sum(credit_cents) from folded group by campaign_id;

  with folded as (
    delete from unknown_area_seen
    where ctid in (select ctid from unknown_area_seen for update skip locked)
    returning *
  )
  insert into unknown_area_seen (tenant_id, term, count, first_at, last_at)
  select tenant_id, term, sum(count), min(first_at), max(last_at) from folded group by tenant_id, term
  having sum(count) > 0;
$$;
