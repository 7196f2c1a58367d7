-- The actions tier's own: where each tenant's leads go, and which effects are done (DECISIONS, Delivery). The
-- service's role cannot see this schema; the role of the actions process sees nothing of the leads.

create schema actions;

create table actions.route (
  tenant_id int primary key,
  -- Always false, so that the foreign key finds no sandbox tenant, whoever writes and in whatever order: neither
  -- can one get a route, nor can a tenant with a route become one.
  sandbox boolean not null generated always as (false) stored,
  crm_url text check (crm_url ~ '^https://[^/?#@\s]+([/?][^#\s]*)?$' and length(crm_url) <= 2000),
  -- Signs the webhook, so it is kept as it is.
  crm_secret text check (crm_secret ~ '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$'),
  -- After a rotation the secret before it signs too, until the receiver has changed over.
  crm_secret_before text check (crm_secret_before ~ '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$'),
  crm_secret_before_until timestamptz,
  -- One address, ASCII, with nothing that could be taken for a second one.
  email text check (email ~ '^[!#$%&''*+/=?^_`{|}~.A-Za-z0-9-]{1,64}@[A-Za-z0-9.-]{1,253}$'),
  changed_at timestamptz not null default now(),
  constraint a_sandbox_tenant_has_no_route foreign key (tenant_id, sandbox) references tenant (id, sandbox),
  check ((crm_url is null) = (crm_secret is null)),
  check ((crm_secret_before is null) = (crm_secret_before_until is null)),
  check (crm_secret_before is null or crm_secret is not null),
  -- A route leads somewhere; one that no longer does is deleted.
  check (crm_url is not null or email is not null)
);

-- What is done for an event: a row for each effect that was ever begun. No personal data.
create table actions.effect (
  event_id text collate "C" not null,
  effect text not null check (effect in ('crm', 'email')),
  -- Times it was begun.
  attempts int not null default 1,
  -- Who is at it, and until when nobody else may begin it.
  lease uuid,
  lease_until timestamptz,
  done_at timestamptz,
  -- Why the last attempt failed, in a word.
  reason text,
  primary key (event_id, effect),
  check ((lease is null) = (lease_until is null)),
  check (done_at is null or lease is null)
) with (fillfactor = 80);
