-- API keys, and temporarily raised limits.

create table api_key (
  id int generated always as identity primary key,
  tenant_id int not null references tenant,
  campaign_id int,
  surface text not null check (surface in ('intake', 'forms')),
  -- The source of the events posted with the key; never changes.
  label text not null check (label <> ''),
  -- SHA-256 of the key. The plaintext is shown once and never stored.
  digest bytea not null unique check (octet_length(digest) = 32),
  last4 text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  -- When the key's tenant was disabled; copied here so that a commit checks only this table.
  suspended_at timestamptz,
  -- A temporarily raised limit, for example for a backfill; null: the published limit.
  limit_per_minute int check (limit_per_minute > 0),
  limit_burst int check (limit_burst > 0),
  limit_until timestamptz,
  check ((limit_per_minute is null) = (limit_until is null) and (limit_burst is null) = (limit_until is null)),
  -- A key charges only a campaign of its own tenant.
  foreign key (tenant_id, campaign_id) references campaign (tenant_id, id)
);
create index api_key_tenant on api_key (tenant_id);

-- Raised limits by network. The limit per IP address is checked before authentication, so it cannot be raised per key.
create table ip_limit (
  network cidr primary key,
  per_minute int not null check (per_minute > 0),
  burst int not null check (burst > 0),
  until timestamptz not null
);
