-- API keys, and limits that an operator has raised for a time.

create table api_key (
  id int generated always as identity primary key,
  tenant_id int not null references tenant,
  campaign_id int,
  surface text not null check (surface in ('intake', 'forms')),
  -- The lead's source; never changes.
  label text not null check (label <> ''),
  -- SHA-256 of the key. The plaintext is shown once and stored nowhere.
  digest bytea not null unique check (octet_length(digest) = 32),
  last4 text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  -- Since when its tenant is disabled; copied here so that a commit checks one table.
  suspended_at timestamptz,
  -- A limit raised for a time (a backfill); null: the published one.
  limit_per_minute int check (limit_per_minute > 0),
  limit_burst int check (limit_burst > 0),
  limit_until timestamptz,
  check ((limit_per_minute is null) = (limit_until is null) and (limit_burst is null) = (limit_until is null)),
  -- A key spends only into a campaign of its own tenant.
  foreign key (tenant_id, campaign_id) references campaign (tenant_id, id)
);

-- The per-IP limit precedes authentication, so a backfill needs it raised by address.
create table ip_limit (
  network cidr primary key,
  per_minute int not null check (per_minute > 0),
  burst int not null check (burst > 0),
  until timestamptz not null
);
