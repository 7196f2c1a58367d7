-- The actions tier's own: where each tenant's leads go, and which effects are done (DECISIONS, Delivery). The
-- service's role cannot see this schema; the role of the actions process sees nothing of the leads.

create schema actions;

-- Where a tenant's leads go: a row a recipient.
create table actions.route (
  id int not null generated always as identity,
  tenant_id int not null,
  -- The kind of destination; src/actions/destinations.ts has them all.
  kind text not null check (kind ~ '^[a-z]{1,20}$'),
  -- Whose events: those of a source (the label of a key), those of a form, or with neither all that no closer route of
  -- the kind takes. What they name need not exist yet.
  source text not null default '' check (length(source) <= 100),
  form text not null default '' check (form = '' or form ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
  closeness smallint not null generated always as (case when form <> '' then 2 when source <> '' then 1 else 0 end) stored,
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
  -- The tenant first: its routes are looked up together.
  primary key (tenant_id, id),
  constraint a_sandbox_tenant_has_no_route foreign key (tenant_id, sandbox) references tenant (id, sandbox),
  check (source = '' or form = ''),
  check (kind <> 'crm' or secret is not null),
  check ((secret_before is null) = (secret_before_until is null)),
  check (secret_before is null or secret is not null)
);
-- Mail alone has several recipients.
create unique index route_recipient on actions.route (tenant_id, kind, source, form, address) where kind = 'email';
create unique index route_single on actions.route (tenant_id, kind, source, form) where kind <> 'email';

-- What is done for an event: a row for each effect that was ever begun, one a recipient.
create table actions.effect (
  event_id text collate "C" not null,
  -- Also of a route that is gone.
  route_id int not null,
  -- The kind of its destination.
  effect text not null check (effect ~ '^[a-z]{1,20}$'),
  -- Times that an operator had it done again.
  round int not null default 0,
  -- Times it was begun.
  attempts int not null default 1,
  -- Who is at it, and until when nobody else may begin it.
  lease uuid,
  lease_until timestamptz,
  is_done boolean not null default false,
  -- When the last attempt ended, done or not.
  settled_at timestamptz,
  -- Why the last attempt failed, in a word.
  reason text,
  -- What the other side said to it. The answer may quote the lead: it goes with the event's content (remove_content).
  status int,
  answer text check (octet_length(answer) <= 1000),
  primary key (event_id, route_id),
  check ((lease is null) = (lease_until is null)),
  check (not is_done or lease is null)
) with (fillfactor = 80);

-- How far the daily digest has come, of each recipient. No personal data.
create table actions.digest (
  tenant_id int not null,
  route_id int not null,
  -- For when the last one was due, and up to when it told.
  due_at timestamptz not null,
  told_until timestamptz not null,
  -- The same of the one that is being sent, how often it was tried, and before when not again.
  trying_at timestamptz,
  trying_until timestamptz,
  attempts int not null default 0,
  next_at timestamptz not null default '-infinity',
  lease uuid,
  lease_until timestamptz,
  -- Why the last attempt failed, in a word.
  reason text,
  primary key (tenant_id, route_id),
  foreign key (tenant_id, route_id) references actions.route on delete cascade,
  check ((lease is null) = (lease_until is null)),
  check ((trying_at is null) = (trying_until is null))
);
