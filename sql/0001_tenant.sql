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
  -- When an operator paused the tenant's deliveries, and why: posts are accepted, and their events wait.
  paused_at timestamptz,
  pause_reason text check (length(pause_reason) <= 200),
  -- Whether delivery claims the tenant's events.
  is_delivering boolean not null generated always as ((sandbox or has_route) and paused_at is null) stored,
  created_at timestamptz not null default now(),
  -- For the foreign key of actions.route, which prevents routes for sandbox tenants.
  constraint tenant_id_sandbox unique (id, sandbox),
  check (pause_reason is null or paused_at is not null)
);
-- No statistics, as in event.
alter table tenant alter column pause_reason set statistics 0;
