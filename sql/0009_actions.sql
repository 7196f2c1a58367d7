-- The actions process's tables: routes, effects, CRM tokens and digests (DECISIONS, Delivery). The service's role cannot read this
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
  -- For email, one ASCII address that no parser splits in two; for a CRM recipe, its name; otherwise, an https URL.
  address text not null check (case
    when kind = 'email' then address ~ '^[!#$%&''*+/=?^_`{|}~.A-Za-z0-9-]{1,64}@[A-Za-z0-9.-]{1,253}$'
    when settings is not null then address ~ '^[a-z0-9][a-z0-9_.-]{0,39}$'
    else address ~ '^https://[^/?#@\s]+([/?][^#\s]*)?$' and length(address) <= 2000
  end),
  -- Signs the requests, so it is stored in plain text; null for kinds without signatures.
  secret text check (secret ~ '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$'),
  -- After a rotation, the previous secret, which also signs until secret_before_until.
  secret_before text check (secret_before ~ '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$'),
  secret_before_until timestamptz,
  -- For a CRM recipe (src/actions/crm); the others are null. The values of the recipe's settings, the secret ones apart; what
  -- identifies the CRM's account (routes with the same credential share its token and its rate); the operator's own recipe, or
  -- the version of the shipped recipe that was set.
  settings json,
  secrets json,
  credential text,
  recipe text check (octet_length(recipe) <= 65536),
  recipe_version text,
  changed_at timestamptz not null default now(),
  primary key (tenant_id, id),
  constraint a_sandbox_tenant_has_no_route foreign key (tenant_id, sandbox) references tenant (id, sandbox),
  check (source = '' or form = ''),
  check (kind <> 'crm' or (secret is null) = (settings is not null)),
  check (kind = 'crm' or settings is null),
  check ((settings is null) = (secrets is null) and (settings is null) = (credential is null)),
  check ((settings is null) = (recipe is null and recipe_version is null)),
  check ((secret_before is null) = (secret_before_until is null)),
  check (secret_before is null or secret is not null)
);
-- No statistics, as in event.
alter table actions.route
  alter column address set statistics 0,
  alter column secret set statistics 0,
  alter column secret_before set statistics 0,
  alter column credential set statistics 0,
  alter column recipe set statistics 0;
-- Only email can have more than one recipient.
create unique index route_recipient on actions.route (tenant_id, kind, source, form, address) where kind = 'email';
create unique index route_single on actions.route (tenant_id, kind, source, form) where kind <> 'email';
create index route_credential on actions.route (credential) where credential is not null;

-- The kinds of destination that an operator paused for a tenant: their effects wait, the others are performed.
create table actions.pause (
  tenant_id int not null references tenant,
  kind text not null check (kind ~ '^[a-z]{1,20}$'),
  paused_at timestamptz not null,
  reason text check (length(reason) <= 200),
  primary key (tenant_id, kind)
);
-- No statistics, as in event.
alter table actions.pause alter column reason set statistics 0;

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
  -- Whether the recipient refused the event for good; the effect is repeated only after a replay.
  is_refused boolean not null default false,
  -- What a CRM recipe has finished for the event: the next step and what later steps need. It may quote the lead.
  progress text check (octet_length(progress) <= 65536),
  -- When the last attempt ended.
  settled_at timestamptz,
  -- The code of the last attempt's failure.
  reason text,
  -- The recipient's response, which may quote the lead, so it is removed with the event's content (remove_content).
  status int,
  answer text check (octet_length(answer) <= 8000),
  -- The chosen headers of that response, by lower-case name; removed with it.
  headers json check (octet_length(headers::text) <= 8000),
  -- Who marked the effect as done without sending it: the operator's name, or '' for ctl restored, which found in the log that the
  -- effect was done; null if it was sent.
  marked_by text check (marked_by is null or is_done),
  primary key (event_id, route_id),
  check ((lease is null) = (lease_until is null)),
  check (not ((is_done or is_refused) and lease is not null)),
  check (not (is_done and is_refused))
) with (fillfactor = 80);
-- No statistics, as in event.
alter table actions.effect
  alter column progress set statistics 0,
  alter column reason set statistics 0,
  alter column answer set statistics 0,
  alter column marked_by set statistics 0;

-- The CRM routes that refused events since their last success, and those whose events wait.
create table actions.suspension (
  tenant_id int not null,
  route_id int not null,
  -- The events that were refused in a row.
  refused text[] not null default '{}',
  -- Why the route's events wait: crm_unauthorized | crm_suspended; null while they do not.
  reason text check (reason in ('crm_unauthorized', 'crm_suspended')),
  since timestamptz,
  -- When a success last ended the wait.
  resumed_at timestamptz,
  -- The event of the last try, whose effect has the CRM's response.
  event_id text collate "C",
  -- The earliest time of the next try, and the last place in the queue of tries.
  try_at timestamptz not null default '-infinity',
  queued_until timestamptz not null default '-infinity',
  primary key (tenant_id, route_id),
  foreign key (tenant_id, route_id) references actions.route on delete cascade,
  check ((reason is null) = (since is null))
);

-- The tenants whose waiting events are being made due, in batches (actions.wake_waiting).
create table actions.waking (
  tenant_id int primary key,
  started_at timestamptz not null,
  -- The due time and the event up to which the outbox was searched.
  seen_due_at timestamptz not null,
  seen_event_id text collate "C" not null,
  -- Whether it goes on during a suspension, because a pause ended.
  is_resume boolean not null
);

-- The CRMs' OAuth tokens, by the credential of their routes. An unused one is kept for a month, because its refresh token may be
-- the only valid one.
create table actions.token (
  credential text primary key,
  changed_at timestamptz not null default now(),
  access_token text,
  -- The last refresh token that the CRM issued; null while the route's own is valid.
  refresh_token text,
  -- The other members of the CRM's response.
  answer json,
  -- When the access token should be renewed; null if the CRM did not say.
  expires_at timestamptz,
  -- The renewal in progress, and when it ends.
  lease uuid,
  lease_until timestamptz,
  check ((lease is null) = (lease_until is null))
);
-- No statistics, as in event.
alter table actions.token
  alter column credential set statistics 0,
  alter column access_token set statistics 0,
  alter column refresh_token set statistics 0;

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
