-- Who may post: tenants, their campaigns and their keys (SPEC, Authentication).

create table tenant (
  id int generated always as identity primary key,
  slug text not null unique check (slug ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
  name text not null,
  sandbox boolean not null default false,
  created_at timestamptz not null default now()
);

create table campaign (
  id int generated always as identity primary key,
  tenant_id int not null references tenant,
  slug text not null check (slug ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
  created_at timestamptz not null default now(),
  unique (tenant_id, slug),
  unique (tenant_id, id)
);

-- What contacts have cost, US cents: a campaign's spend is the sum. Inserted, never updated, so that no two commits
-- meet on a campaign's row; folded together now and then (compact_campaign_charge).
create table campaign_charge (
  campaign_id int not null,
  cents bigint not null
);
create view campaign_spend as
  select c.id as campaign_id, coalesce(sum(s.cents), 0)::bigint as spend_cents
  from campaign as c left join campaign_charge as s on s.campaign_id = c.id
  group by c.id;

create table api_key (
  id int generated always as identity primary key,
  tenant_id int not null references tenant,
  campaign_id int,
  surface text not null check (surface in ('intake', 'forms')),
  -- The lead's source; a key keeps its label for life.
  label text not null check (label <> ''),
  -- SHA-256 of the key. The plaintext is shown once and stored nowhere.
  digest bytea not null unique check (octet_length(digest) = 32),
  last4 text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  -- A raised limit for an agreed window (a backfill); null means the published one.
  limit_per_minute int check (limit_per_minute > 0),
  limit_burst int check (limit_burst > 0),
  limit_until timestamptz,
  check ((limit_per_minute is null) = (limit_until is null) and (limit_burst is null) = (limit_until is null)),
  -- A key spends only into a campaign of its own tenant.
  foreign key (tenant_id, campaign_id) references campaign (tenant_id, id)
);

-- The per-IP limit stands before authentication, so a backfill needs it raised by address.
create table ip_limit (
  network cidr primary key,
  per_minute int not null check (per_minute > 0),
  burst int not null check (burst > 0),
  until timestamptz not null
);
