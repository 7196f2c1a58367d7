-- Tenants (SPEC, Authentication). Campaigns and keys follow.

create table tenant (
  id int generated always as identity primary key,
  slug text not null unique check (slug ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
  name text not null,
  sandbox boolean not null default false,
  -- Whether a live tenant has a route; maintained by a trigger on actions.route for the service, which cannot read
  -- routes.
  has_route boolean not null default false,
  -- Days for which content is kept; null: forever.
  retention_days int check (retention_days between 1 and 3650),
  -- The time zone of mails and digests: an IANA name.
  time_zone text not null default 'UTC',
  -- When its daily digest is sent, in its time zone; null: none.
  digest_at time,
  -- Whether the digest lists held submissions with links that release them (functions/held_link.sql).
  digest_actions boolean not null default false,
  -- Since when its keys and forms are rejected; accepted events are still delivered.
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  -- For the foreign key of actions.route, which keeps sandbox tenants from having routes.
  constraint tenant_id_sandbox unique (id, sandbox)
);
