-- The actions process's tables: routes, effects and digests (DECISIONS, Delivery). The service's role cannot read this
-- schema, and the role of the actions process cannot read leads.

create schema actions;

-- The recipients of a tenant's events.
create table actions.route (
  id int not null generated always as identity,
  tenant_id int not null,
  -- The kind of destination; listed in src/actions/destinations.ts.
  kind text not null check (kind ~ '^[a-z]{1,20}$'),
  -- The events that the recipient receives: those from a source (a key's label), those from a form or, if both are
  -- empty, all that no more specific route of the kind receives. The source or form need not exist yet.
  source text not null default '' check (length(source) <= 100),
  form text not null default '' check (form = '' or form ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
  closeness smallint not null generated always as (case when form <> '' then 2 when source <> '' then 1 else 0 end) stored,
  -- Always false, for the foreign key: a sandbox tenant cannot get a route, nor can a tenant with a route become a
  -- sandbox tenant.
  sandbox boolean not null generated always as (false) stored,
  -- For email, one ASCII address that no parser splits in two; for other kinds, an https URL.
  address text not null check (case kind
    when 'email' then address ~ '^[!#$%&''*+/=?^_`{|}~.A-Za-z0-9-]{1,64}@[A-Za-z0-9.-]{1,253}$'
    else address ~ '^https://[^/?#@\s]+([/?][^#\s]*)?$' and length(address) <= 2000
  end),
  -- Signs the requests, so it is stored in plain text; null for kinds without signatures.
  secret text check (secret ~ '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$'),
  -- After a rotation, the previous secret, which also signs until secret_before_until.
  secret_before text check (secret_before ~ '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$'),
  secret_before_until timestamptz,
  changed_at timestamptz not null default now(),
  primary key (tenant_id, id),
  constraint a_sandbox_tenant_has_no_route foreign key (tenant_id, sandbox) references tenant (id, sandbox),
  check (source = '' or form = ''),
  check (kind <> 'crm' or secret is not null),
  check ((secret_before is null) = (secret_before_until is null)),
  check (secret_before is null or secret is not null)
);
-- Only email can have more than one recipient.
create unique index route_recipient on actions.route (tenant_id, kind, source, form, address) where kind = 'email';
create unique index route_single on actions.route (tenant_id, kind, source, form) where kind <> 'email';

-- The effects that were started, by event and recipient.
create table actions.effect (
  event_id text collate "C" not null,
  -- Not a foreign key, because the route may be removed later.
  route_id int not null,
  -- The kind of destination.
  effect text not null check (effect ~ '^[a-z]{1,20}$'),
  -- How often an operator has restarted the effect.
  round int not null default 0,
  -- How often the effect was started.
  attempts int not null default 1,
  -- The current claim and when it ends.
  lease uuid,
  lease_until timestamptz,
  is_done boolean not null default false,
  -- When the last attempt ended.
  settled_at timestamptz,
  -- The code of the last attempt's failure.
  reason text,
  -- The recipient's response, which may quote the lead, so it is removed with the event's content (remove_content).
  status int,
  answer text check (octet_length(answer) <= 1000),
  primary key (event_id, route_id),
  check ((lease is null) = (lease_until is null)),
  check (not is_done or lease is null)
) with (fillfactor = 80);

-- The progress of each recipient's daily digest. Contains no personal data.
create table actions.digest (
  tenant_id int not null,
  route_id int not null,
  -- When the last digest was due, and the end of the period that it covered.
  due_at timestamptz not null,
  covered_until timestamptz not null,
  -- The same two times for the digest being sent, the number of attempts, and the time of the next attempt.
  trying_at timestamptz,
  trying_until timestamptz,
  attempts int not null default 0,
  next_at timestamptz not null default '-infinity',
  lease uuid,
  lease_until timestamptz,
  -- The code of the last attempt's failure.
  reason text,
  primary key (tenant_id, route_id),
  foreign key (tenant_id, route_id) references actions.route on delete cascade,
  check ((lease is null) = (lease_until is null)),
  check ((trying_at is null) = (trying_until is null))
);
