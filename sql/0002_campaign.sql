-- The campaigns of the tenants, and what their leads have cost.

create table campaign (
  id int generated always as identity primary key,
  tenant_id int not null references tenant,
  slug text not null check (slug ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
  created_at timestamptz not null default now(),
  unique (tenant_id, slug),
  unique (tenant_id, id)
);

-- What a lead costs, US cents (SPEC, Limits). Checked for each lead: a sum could hide an amount that is none.
create domain lead_cost_cents as int check (value between 1 and 99999);

-- What contacts have cost, US cents: a campaign's spend is the sum. Inserted, never updated, so that no two commits
-- meet on a campaign's row; folded together now and then (fold_counts).
create table campaign_charge (
  campaign_id int not null,
  -- Nobody can turn an amount into a credit, whoever writes.
  cents bigint not null check (cents > 0)
);
create view campaign_spend as
  select c.id as campaign_id, coalesce(sum(s.cents), 0)::bigint as spend_cents
  from campaign as c left join campaign_charge as s on s.campaign_id = c.id
  group by c.id;
