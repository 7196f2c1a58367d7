-- The actions process's own tables: each tenant's routes, and completed effects (DECISIONS, Delivery). The service's
-- role cannot see this schema; the role of the actions process sees nothing of the leads.

create schema actions;

-- Where a tenant's events go: one row per recipient.
create table actions.route (
  id int not null generated always as identity,
  tenant_id int not null,
  -- The kind of destination; listed in src/actions/destinations.ts.
  kind text not null check (kind ~ '^[a-z]{1,20}$'),
  -- Which events: a source's (the label of a key), a form's, or with both empty all that no closer route of the kind
  -- takes. The source or form need not exist yet.
  source text not null default '' check (length(source) <= 100),
  form text not null default '' check (form = '' or form ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
  closeness smallint not null generated always as (case when form <> '' then 2 when source <> '' then 1 else 0 end) stored,
  -- Always false, for the foreign key: a sandbox tenant cannot get a route, and a tenant with a route cannot become a
  -- sandbox.
  sandbox boolean not null generated always as (false) stored,
  -- One mailbox, ASCII, which cannot be read as two; for other kinds an https URL.
  address text not null check (case kind
    when 'email' then address ~ '^[!#$%&''*+/=?^_`{|}~.A-Za-z0-9-]{1,64}@[A-Za-z0-9.-]{1,253}$'
    else address ~ '^https://[^/?#@\s]+([/?][^#\s]*)?$' and length(address) <= 2000
  end),
  -- Signs what is posted, so it is stored in the clear; null where nothing is signed.
  secret text check (secret ~ '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$'),
  -- The secret before a rotation also signs, until the receiver has switched.
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
-- Only mail has several recipients.
create unique index route_recipient on actions.route (tenant_id, kind, source, form, address) where kind = 'email';
create unique index route_single on actions.route (tenant_id, kind, source, form) where kind <> 'email';

-- One row per effect ever begun, one per event and recipient.
create table actions.effect (
  event_id text collate "C" not null,
  -- Also of a removed route.
  route_id int not null,
  -- The kind of its destination.
  effect text not null check (effect ~ '^[a-z]{1,20}$'),
  -- How often an operator has restarted it.
  round int not null default 0,
  -- How often it was begun.
  attempts int not null default 1,
  -- The current claim, and until when.
  lease uuid,
  lease_until timestamptz,
  is_done boolean not null default false,
  -- When the last attempt ended, done or not.
  settled_at timestamptz,
  -- Why the last attempt failed, in a word.
  reason text,
  -- The recipient's response, which may quote the lead, so it is removed with the event's content (remove_content).
  status int,
  answer text check (octet_length(answer) <= 1000),
  primary key (event_id, route_id),
  check ((lease is null) = (lease_until is null)),
  check (not is_done or lease is null)
) with (fillfactor = 80);

-- The progress of each recipient's daily digest. No personal data.
create table actions.digest (
  tenant_id int not null,
  route_id int not null,
  -- When the last one was due, and the end of the span it covered.
  due_at timestamptz not null,
  told_until timestamptz not null,
  -- The same for the one being sent, its number of attempts, and when to try next.
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
