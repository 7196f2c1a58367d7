-- Tenants (SPEC, Authentication).

create table tenant (
  id int generated always as identity primary key,
  slug text not null unique check (slug ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
  name text not null,
  sandbox boolean not null default false,
  -- Whether the tenant has a route. Maintained by a trigger on actions.route, because the service cannot read routes.
  has_route boolean not null default false,
  -- How many days content is retained; null: forever.
  retention_days int check (retention_days between 1 and 3650),
  -- The time zone for emails and digests, an IANA name.
  time_zone text not null default 'UTC',
  -- The local time at which the daily digest is due; null: no digest.
  digest_at time,
  -- Whether the digest lists held submissions with links that release them (functions/held_link.sql).
  digest_actions boolean not null default false,
  -- When the tenant was disabled: its keys are rejected, but accepted events are still delivered.
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  -- For the foreign key of actions.route, which prevents routes for sandbox tenants.
  constraint tenant_id_sandbox unique (id, sandbox)
);
