-- The actions tier's own: where each tenant's leads go, and which effects are done (DECISIONS, Delivery). The
-- service's role cannot see this schema; the role of the actions process sees nothing of the leads.

create schema actions;

-- Where a tenant's leads go: a row a destination.
create table actions.route (
  tenant_id int not null,
  -- The kind of destination; src/actions/destinations.ts has them all.
  kind text not null check (kind ~ '^[a-z]{1,20}$'),
  -- Always false, so that the foreign key finds no sandbox tenant, whoever writes and in whatever order: neither
  -- can one get a route, nor can a tenant with a route become one.
  sandbox boolean not null generated always as (false) stored,
  -- One mailbox, ASCII, with nothing that could be taken for a second one; of any other kind an https address.
  address text not null check (case kind
    when 'email' then address ~ '^[!#$%&''*+/=?^_`{|}~.A-Za-z0-9-]{1,64}@[A-Za-z0-9.-]{1,253}$'
    else address ~ '^https://[^/?#@\s]+([/?][^#\s]*)?$' and length(address) <= 2000
  end),
  -- Signs what is posted, so it is kept as it is; null where nothing is signed.
  secret text check (secret ~ '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$'),
  -- After a rotation the secret before it signs too, until the receiver has changed over.
  secret_before text check (secret_before ~ '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$'),
  secret_before_until timestamptz,
  changed_at timestamptz not null default now(),
  primary key (tenant_id, kind),
  constraint a_sandbox_tenant_has_no_route foreign key (tenant_id, sandbox) references tenant (id, sandbox),
  check (kind <> 'crm' or secret is not null),
  check ((secret_before is null) = (secret_before_until is null)),
  check (secret_before is null or secret is not null)
);

-- What is done for an event: a row for each effect that was ever begun. No personal data.
create table actions.effect (
  event_id text collate "C" not null,
  -- The kind of its destination.
  effect text not null check (effect ~ '^[a-z]{1,20}$'),
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
