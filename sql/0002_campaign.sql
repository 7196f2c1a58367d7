-- Tenants' campaigns, and the costs charged to them.

create table campaign (
  id int generated always as identity primary key,
  tenant_id int not null references tenant,
  slug text not null check (slug ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
  created_at timestamptz not null default now(),
  unique (tenant_id, slug),
  unique (tenant_id, id)
);

-- A lead's cost in US cents (SPEC, Limits). Checked for each lead, because a sum could hide an invalid amount.
create domain lead_cost_cents as int check (value between 1 and 99999);

-- Charges for leads, and credits for returned leads (lead_return); undoing a return is a negative credit. A campaign's spend
-- and credit are their sums. Insert-only, so that commits do not contend for a row; aggregated by fold_counts.
create table campaign_charge (
  campaign_id int not null,
  cents bigint not null check (cents >= 0),
  credit_cents bigint not null default 0
);
create view campaign_spend as
  select
    c.id as campaign_id, coalesce(sum(s.cents), 0)::bigint as spend_cents,
    coalesce(sum(s.credit_cents), 0)::bigint as credit_cents,
    coalesce(sum(s.cents - s.credit_cents), 0)::bigint as net_cents
  from campaign as c left join campaign_charge as s on s.campaign_id = c.id
  group by c.id;
