-- Who may post (SPEC, Authentication): tenants. Their campaigns and keys follow.

create table tenant (
  id int generated always as identity primary key,
  slug text not null unique check (slug ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
  name text not null,
  sandbox boolean not null default false,
  -- Whether a live tenant's leads have somewhere to go; kept by a trigger on actions.route, for the service, which
  -- cannot read the routes.
  has_route boolean not null default false,
  -- How long the content of its leads and submissions is kept; null: for ever.
  retention_days int check (retention_days between 1 and 3650),
  -- The times that its people read, in mails and digests: an IANA name.
  time_zone text not null default 'UTC',
  -- When its daily digest is sent, by its own clock; null: none.
  digest_at time,
  -- Whether that digest names what is held as spam, and has links that release it (functions/held_link.sql).
  digest_actions boolean not null default false,
  -- Its keys and forms take nothing since then; what was accepted is still delivered.
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  -- For the foreign key of actions.route, which lets no sandbox tenant have one.
  constraint tenant_id_sandbox unique (id, sandbox)
);
