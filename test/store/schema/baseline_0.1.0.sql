-- A database as version 0.1.0 made it, with a little data in every table; written by scripts/dump_baseline.ts.
set check_function_bodies = off;
create table schema_file (name text primary key, digest text not null, applied_at timestamptz not null default now());
create table schema_release (fingerprint text primary key, version text not null, is_current boolean not null);
-- sql/0001_tenant.sql
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
  -- Its keys and forms take nothing since then; what was accepted is still delivered.
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  -- For the foreign key of actions.route, which lets no sandbox tenant have one.
  constraint tenant_id_sandbox unique (id, sandbox)
);

-- sql/0002_campaign.sql
-- The campaigns of the tenants, and what their leads have cost.

create table campaign (
  id int generated always as identity primary key,
  tenant_id int not null references tenant,
  slug text not null check (slug ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
  created_at timestamptz not null default now(),
  unique (tenant_id, slug),
  unique (tenant_id, id)
);

-- What a lead costs, US cents (SPEC, Limits). Checked for each lead: a sum could hide an amount that is none.
create domain lead_cost_cents as int check (value between 1 and 99999);

-- What contacts have cost, US cents: a campaign's spend is the sum. Inserted, never updated, so that no two commits
-- meet on a campaign's row; folded together now and then (compact_campaign_charge).
create table campaign_charge (
  campaign_id int not null,
  -- Nobody can turn an amount into a credit, whoever writes.
  cents bigint not null check (cents > 0)
);
create view campaign_spend as
  select c.id as campaign_id, coalesce(sum(s.cents), 0)::bigint as spend_cents
  from campaign as c left join campaign_charge as s on s.campaign_id = c.id
  group by c.id;

-- sql/0003_key.sql
-- What a caller shows, and the limits that an operator has raised for a while.

create table api_key (
  id int generated always as identity primary key,
  tenant_id int not null references tenant,
  campaign_id int,
  surface text not null check (surface in ('intake', 'forms')),
  -- The lead's source; a key keeps its label for life.
  label text not null check (label <> ''),
  -- SHA-256 of the key. The plaintext is shown once and stored nowhere.
  digest bytea not null unique check (octet_length(digest) = 32),
  last4 text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  -- While its tenant is disabled. Here as well as there, so that a commit looks at one table.
  suspended_at timestamptz,
  -- A raised limit for an agreed window (a backfill); null means the published one.
  limit_per_minute int check (limit_per_minute > 0),
  limit_burst int check (limit_burst > 0),
  limit_until timestamptz,
  check ((limit_per_minute is null) = (limit_until is null) and (limit_burst is null) = (limit_until is null)),
  -- A key spends only into a campaign of its own tenant.
  foreign key (tenant_id, campaign_id) references campaign (tenant_id, id)
);

-- The per-IP limit stands before authentication, so a backfill needs it raised by address.
create table ip_limit (
  network cidr primary key,
  per_minute int not null check (per_minute > 0),
  burst int not null check (burst > 0),
  until timestamptz not null
);

-- sql/0004_area.sql
-- The vocabulary of project_area (SPEC, Vocabulary). A retired term stays, unlisted and unknown.

create table area (
  area text primary key,
  status text not null check (status in ('confirmed', 'proposed', 'retired')),
  created_at timestamptz not null default now()
);
create unique index area_folded on area (lower(area));

insert into area (area, status)
select unnest(array[
  'attic', 'backyard', 'basement', 'bathroom', 'bedroom', 'chimney', 'closet', 'crawl space', 'deck',
  'dining room', 'doors', 'driveway', 'electrical', 'exterior', 'fence', 'flooring', 'foundation', 'garage',
  'gutters', 'home office', 'hvac', 'insulation', 'kitchen', 'landscaping', 'laundry room', 'living room',
  'patio', 'plumbing', 'pool', 'porch', 'roof', 'siding', 'solar', 'stairs', 'walls', 'whole home', 'windows'
]), 'confirmed';

-- What callers sent that the vocabulary does not know. Inserted, never updated, so that no commit waits for a row;
-- folded together now and then (compact_unknown_area).
create table unknown_area_seen (
  tenant_id int not null,
  term text not null,
  count bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null
);
-- The same, counted by tenant and term.
create view unknown_area as
  select tenant_id, term, sum(count)::bigint as count, min(first_at) as first_at, max(last_at) as last_at
  from unknown_area_seen
  group by tenant_id, term;

-- sql/0005_event.sql
-- Accepted events: leads and submissions.

create table event (
  -- Time, order within the batch, 80 random bits: sorts by acceptance, so the index grows at its right edge.
  event_id text collate "C" primary key,
  kind text not null check (kind in ('lead', 'form')),
  -- No foreign keys here and on the outbox: accept() takes both from api_key, whose rows are never deleted, and
  -- the checks would lock the same two rows for every lead.
  tenant_id int not null,
  key_id int not null,
  received_at timestamptz not null,
  -- What makes a later post a duplicate: 'k' the digest of its Idempotency-Key, 'c' of its content; 'K' and
  -- 'C' are the same for forms. The digest is null once a content window has passed.
  dedupe_space "char" not null check (dedupe_space in ('k', 'c', 'K', 'C')),
  dedupe_digest uuid,
  -- The normalized content, to tell a retry from another lead under the same Idempotency-Key.
  content_digest uuid,
  idempotency_key text,
  flags text[] not null,
  -- The normalized lead, envelope names, cost as cost_cents.
  lead json,
  -- Text, not json: it keeps \u0000 and every digit as sent.
  extra text,
  raw text,
  -- What the lead has cost, for the report's spend, once its content has gone; null until then.
  cost_cents int,
  -- When the content went, and by what: erasure | retention. The columns lead, extra, raw, idempotency_key,
  -- content_digest and a content window's digest are null from then on (remove_content).
  removed_at timestamptz,
  removed_by text
);
create unique index event_dedupe on event (tenant_id, dedupe_space, dedupe_digest);
-- The report asks which events of an hour lost their content before they were delivered; few have lost it at all.
create index event_removed on event (event_id) where removed_at is not null;

-- Another lead under a used Idempotency-Key: kept aside for the operator, never delivered unless he accepts it as an
-- event of its own. It has what it needs to become one.
create table collision (
  id bigint generated always as identity primary key,
  event_id text collate "C" not null references event,
  -- Null once the content has gone: it is made of it.
  content_digest uuid,
  key_id int not null references api_key,
  count bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  lead json,
  extra text,
  raw text,
  flags text[] not null,
  -- Of a submission, as in its table; null for a lead. The last three are null after an erasure.
  form_id int,
  score int,
  reasons text[],
  phone text,
  email text,
  last_name text,
  -- Phone or email are others than the event's, or they have neither in common: somebody may be lost.
  other_person boolean not null,
  -- When an operator accepted or dismissed it; accepted, it is this event.
  settled_at timestamptz,
  accepted_event_id text collate "C" references event,
  unique (event_id, content_digest),
  check (accepted_event_id is null or settled_at is not null)
);
-- The report asks for the collisions of some days.
create index collision_first_at on collision (first_at);
-- Those that want a person.
create index collision_open on collision (id) where other_person and settled_at is null;
-- Whose event it became.
create index collision_accepted on collision (accepted_event_id) where accepted_event_id is not null;

-- sql/0006_outbox.sql
-- What waits to be delivered, and what became of deliveries: every attempt, and the dead letters.

-- One row per event that is not settled yet. It stays narrow and leaves when the event is delivered or dead.
create table outbox (
  event_id text collate "C" primary key,
  tenant_id int not null,
  -- When it may be sent.
  due_at timestamptz not null,
  -- Attempts begun, and those of them that count towards its death; one that is being made counts in both.
  made int not null default 0,
  spent int not null default 0,
  -- The attempts before it was sent again by an operator: what becomes of those is settled.
  sent_before int not null default 0,
  -- Replayed by an operator: the next refusal makes it dead again.
  is_replay boolean not null default false,
  -- The claim that is sending it, and when anybody may claim it again; null while pending.
  lease uuid,
  lease_until timestamptz,
  -- Why it still waits, in a word.
  reason text
  -- A claim changes no column of an index, and finds room for the row's new version on its page: no index gets an entry
  -- then. Measured: 31 µs of PostgreSQL a row with claim and settlement became 25, and 1,061 bytes of WAL 662.
) with (fillfactor = 40);
-- A tenant's rows in the order in which they are due: claims go tenant by tenant.
create index outbox_due on outbox (tenant_id, due_at, event_id);

-- Changes of the number of outbox rows by state: inserted, never updated, so that no two commits meet on a
-- counter's row; folded together now and then (compact_outbox_tally).
create table outbox_tally (
  state text not null check (state in ('pending', 'dead')),
  delta bigint not null
);

create table attempt (
  event_id text collate "C" not null,
  number int not null,
  at timestamptz not null,
  -- delivered | refused (the tier answered otherwise) | unreachable (no answer) | lost (the process ended)
  outcome text not null check (outcome in ('delivered', 'refused', 'unreachable', 'lost')),
  -- The HTTP status, where there was one.
  status int,
  -- What the tier said of it, in a word or two; never content of a lead.
  reason text,
  duration_ms int,
  -- Whether it counts towards the attempts after which an event is dead.
  spent boolean not null,
  primary key (event_id, number)
);

-- Events that were given up. They keep their payload (the event) until an operator replays them.
create table dead_letter (
  event_id text collate "C" primary key,
  tenant_id int not null,
  died_at timestamptz not null,
  reason text,
  -- As in the outbox, where it came from.
  sent_before int not null default 0
);
create index dead_letter_tenant on dead_letter (tenant_id, event_id);

-- sql/0007_form.sql
-- The tenants' forms, and what was found of each submission (SPEC, Tenant forms).

create table form (
  id int generated always as identity primary key,
  tenant_id int not null references tenant,
  -- A segment of the address, compared as sent: nothing in it may have a second spelling there.
  form_key text not null check (form_key ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
  -- At least one, so that {} is always refused: the probe.
  required text[] not null check (cardinality(required) > 0 and array_position(required, null) is null),
  -- Submissions with this score or more are held; null: the service's default.
  threshold int check (threshold > 0),
  blocked text[] not null default '{}',
  created_at timestamptz not null default now(),
  -- It answers 404 since then; its submissions stay.
  removed_at timestamptz,
  unique (tenant_id, form_key)
);

-- Beside the event of each submission. No foreign keys, as on the outbox.
create table submission (
  event_id text collate "C" primary key,
  tenant_id int not null,
  form_id int not null,
  -- All but a clean one are held: no outbox row until an operator releases them.
  verdict text not null check (verdict in ('clean', 'honeypot', 'spam')),
  score int not null,
  -- Names only.
  reasons text[] not null,
  released_at timestamptz,
  -- Nobody needs to judge it any more: an operator has left it held, and it can still be released, or its content has
  -- gone.
  dismissed_at timestamptz,
  -- For the operator's search, from the fields whose names say that they hold them; null after an erasure. Their
  -- lengths are bounded, because an index entry's is.
  phone text,
  email text,
  -- Lower case, and compared by bytes, so that the start of a name is found by the index.
  last_name text collate "C",
  check (verdict <> 'clean' or (released_at is null and dismissed_at is null))
);
create index submission_phone on submission (phone, event_id) where phone is not null;
create index submission_email on submission (email, event_id) where email is not null;
create index submission_last_name on submission (last_name, event_id) where last_name is not null;
-- What is held, newest first: of all tenants, and of one. For the search.
create index submission_held on submission (event_id) where verdict <> 'clean' and released_at is null;
create index submission_held_tenant on submission (tenant_id, event_id)
  where verdict <> 'clean' and released_at is null;
-- What somebody has to judge, the likeliest to be a person first.
create index submission_to_judge on submission (score, event_id)
  where verdict <> 'clean' and released_at is null and dismissed_at is null;
create index submission_to_judge_tenant on submission (tenant_id, score, event_id)
  where verdict <> 'clean' and released_at is null and dismissed_at is null;

-- sql/0008_plan.sql
-- The subscription plans and what was sold of them (SPEC, Plan; DECISIONS, Plans, checkout, site).

create table plan (
  slug text primary key check (slug ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
  -- Read out of the body, so that nothing has to be parsed to sort, to sell or to list.
  name text not null,
  customer text not null,
  amount_cents int not null check (amount_cents >= 0),
  billing_interval text not null check (billing_interval in ('day', 'week', 'month', 'year')),
  -- The plan as it was put, without the white space between its tokens: unknown members, digits and escapes stay
  -- as they were written, which json keeps and jsonb does not.
  body json not null,
  updated_at timestamptz not null default clock_timestamp()
);

-- One row a checkout that was begun; it becomes the subscription when the buyer pays. No personal data: who the buyer
-- is, the payment provider knows. What was never paid is forgotten after some days (forget_checkouts).
create table subscription (
  -- Our reference at the provider (client_reference_id, metadata), and the Idempotency-Key of the call that opens the
  -- session: a repeated call finds the same session.
  id uuid primary key default gen_random_uuid(),
  -- As they were when the checkout began; the plan may have changed or gone since.
  plan_slug text not null,
  plan_name text not null,
  plan_customer text not null,
  amount_cents int not null check (amount_cents >= 0),
  billing_interval text not null,
  -- opening: the provider is being asked; open: the buyer has an address to pay at; expired: the buyer did not; failed:
  -- it could not be opened, or a payment method that takes days has failed. From incomplete on they are the
  -- provider's own words.
  state text not null default 'opening' check (state in (
    'opening', 'open', 'expired', 'failed',
    'incomplete', 'incomplete_expired', 'trialing', 'active', 'past_due', 'unpaid', 'paused', 'canceled'
  )),
  -- The time, by the provider's clock, of the event that set the state.
  state_event_at timestamptz,
  -- Of the caller's Idempotency-Key, and of the key with what was posted under it, while they are remembered.
  key_digest uuid unique,
  request_digest uuid,
  session_id text unique,
  session_url text,
  session_expires_at timestamptz,
  provider_subscription_id text unique,
  provider_customer_id text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index subscription_created on subscription (created_at desc, id);

-- The provider's events that were taken: it delivers at least once.
create table provider_event (
  event_id text primary key,
  type text not null,
  created_at timestamptz not null,
  received_at timestamptz not null
);
create index provider_event_received on provider_event (received_at);

-- sql/0009_actions.sql
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

-- sql/0010_audit.sql
-- What operators did, by command or on the console's pages. No personal data: the subject is an id, a term or a
-- count, never a name, a number or an address.
--
-- A chain: each row has the digest over the digest of the row before and its own content, so that nobody changes,
-- removes or adds one unseen (functions/append_audit.sql, ctl audit verify).

create table audit (
  -- Numbered by the chain and not by a sequence, so that a number is never left out.
  id bigint primary key,
  at timestamptz not null,
  -- The way he came, ctl or console, and the database role that had logged in.
  actor text not null,
  -- What whoever acted says of himself, and nobody has checked: the client's address, the account of the machine.
  claimed text,
  -- Such as dead.replay, submission.release, area.confirm, person.erase.
  action text not null check (action ~ '^[a-z_]+\.[a-z_]+$'),
  subject text not null,
  -- Counts and the like.
  detail json,
  digest bytea not null check (octet_length(digest) = 32)
);
create index audit_at on audit (at desc, id desc);
-- The console shows beside an event, a submission or a term who has done what to it.
create index audit_subject on audit (subject, id);

-- The chain's end. Whoever adds to it locks this row, and nobody else does.
create table audit_head (
  is_only boolean primary key default true check (is_only),
  id bigint not null,
  -- Empty before the first row.
  digest bytea not null
);
insert into audit_head (id, digest) values (0, '');

-- sql/0011_tombstone.sql
-- What an erasure leaves for a minute, so that a post which was under way when it ended is erased with the rest
-- (functions/lay_tombstone.sql, accept).

-- HMAC-SHA-256 of what makes a post the erased person's: an address, a number. The table alone tells nobody which, however
-- many are tried, because the key is in another one, and nobody but the owner reads either.
create table tombstone (
  run uuid not null,
  digest bytea not null,
  -- Posts that arrived until then are the person's from before the erasure; a later one is a new lead.
  posted_until timestamptz not null,
  -- By then whatever arrived before has been committed or given up.
  expires_at timestamptz not null,
  primary key (digest, run)
);

-- The key of those digests, with both pads of the HMAC (RFC 2104) applied. Made here, and never shown.
create table tombstone_key (
  is_only boolean primary key default true check (is_only),
  inner_pad bytea not null check (octet_length(inner_pad) = 64),
  outer_pad bytea not null check (octet_length(outer_pad) = 64)
);
do $$
declare
  -- 32 bytes from the strong random numbers of the server: each of the four has 122 bits of chance.
  v_key bytea := sha256(
    uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
      || uuid_send(gen_random_uuid())
  ) || decode(repeat('00', 32), 'hex');
  v_inner bytea := v_key;
  v_outer bytea := v_key;
begin
  for v_at in 0..63 loop
    v_inner := set_byte(v_inner, v_at, get_byte(v_key, v_at) # 54);
    v_outer := set_byte(v_outer, v_at, get_byte(v_key, v_at) # 92);
  end loop;
  insert into tombstone_key (inner_pad, outer_pad) values (v_inner, v_outer);
end
$$;

-- sql/0012_retention.sql
-- How far the job has come that removes content older than its tenant keeps it (expire_content).

-- A key's events up to after_id have been looked at: their content is removed, or they are among retention_left. So
-- nothing has to begin anew when the days change, whichever way.
create table retention_cursor (
  key_id int primary key,
  after_id text collate "C" not null,
  looked_at timestamptz not null
);

-- Events that were due and still waited or were dead: they are looked at again.
create table retention_left (
  event_id text collate "C" primary key,
  tenant_id int not null,
  look_at timestamptz not null
);
create index retention_left_look on retention_left (look_at);

-- sql/0013_figures.sql
-- What the report and the console's plots are made of. No personal data, so it stays when leads are erased. What the
-- processes count is added up and never taken away from, whoever calls.

-- Refusals leave nothing but these counts.
create table refusal_total (
  day date not null,
  key_id int not null references api_key,
  reason text not null,
  field text not null,
  count bigint not null check (count > 0),
  primary key (day, key_id, reason, field)
);

-- Duplicates leave nothing but these counts: each answer 200 with the event of an earlier post.
create table duplicate_total (
  day date not null,
  key_id int not null references api_key,
  count bigint not null check (count > 0),
  primary key (day, key_id)
);

-- Events by the hour of their acceptance (UTC) and their key, so that a report of months does not read millions of
-- events (roll_up_hours).
create table hour_total (
  hour timestamptz not null,
  key_id int not null,
  accepted int not null,
  spend_cents bigint not null,
  -- How many have each flag: {"phone_unnormalized": 3}.
  flags json not null,
  -- How many were delivered within which time: {"40": 17}, see hour_figures.
  seconds json not null,
  primary key (hour, key_id)
);
-- The sources' hours, newest first: which one has gone silent.
create index hour_total_key on hour_total (key_id, hour);

-- Which hours hour_total has, also those without an event.
create table hour_rolled (
  hour timestamptz primary key,
  rolled_at timestamptz not null,
  -- Nothing of it waits any more, so what it has will not change.
  is_final boolean not null
);

-- Once a minute from each process: what it did since its sample before, and how things stood.
create table minute_sample (
  at timestamptz not null,
  node text not null,
  accepted int not null,
  refused int not null,
  delivered int not null,
  -- Attempts that failed.
  failed int not null,
  -- Events that were given up.
  died int not null default 0,
  -- Refusals by their code, {"rate_limited": 3}: the codes are the specification's, so there are few.
  refusals json not null default '{}',
  pending bigint not null,
  dead bigint not null,
  -- No more than a plot can show.
  oldest_pending_s double precision not null check (oldest_pending_s >= 0 and oldest_pending_s < 'infinity'),
  breaker text not null check (breaker in ('none', 'closed', 'half_open', 'open')),
  primary key (at, node),
  check (accepted >= 0 and refused >= 0 and delivered >= 0 and failed >= 0 and died >= 0)
);

-- sql/0014_heartbeat.sql
-- The beats, which prove that the store takes writes and has room for them: each is a row, and each row needs a page
-- of its own, because a page counts as full (fillfactor) once it holds one. An update in place would still succeed on
-- a full disk. Nothing reads the rows; trim_heartbeat() keeps the table small.

create table heartbeat (
  -- Of the process; not unique.
  slot int not null,
  filler text not null default repeat('-', 450)
) with (fillfactor = 10);
-- Neither compressed nor moved elsewhere.
alter table heartbeat alter column filler set storage plain;

-- sql/0015_search.sql
-- The indexes of the operator's search (src/store/operator/search_ways.ts) that each commit writes. What they cost the
-- intake is a row of its benchmark.

-- A source's or a tenant's events, newest first.
create index event_key on event (key_id, event_id);

-- An event with a flag is rare enough; one index each (src/contract/fields.ts), so that those without cost nothing.
create index event_flag_phone_unnormalized on event (event_id) where flags @> '{phone_unnormalized}';
create index event_flag_project_area_unknown on event (event_id) where flags @> '{project_area_unknown}';
create index event_flag_project_service_unknown on event (event_id) where flags @> '{project_service_unknown}';
create index event_flag_email_shape_suspect on event (event_id) where flags @> '{email_shape_suspect}';
create index event_flag_extra_fields_preserved on event (event_id) where flags @> '{extra_fields_preserved}';
create index event_flag_country_unrecognized on event (event_id) where flags @> '{country_unrecognized}';

-- sql/0016_limit.sql
-- The limits that several nodes share: what is left of the buckets that are in use, and which node holds how much of it.
--
-- Unlogged, because a request is not to cost a byte of WAL: after a crash and on a new primary the tables are empty, and
-- the nodes tell what they know. Few rows and short-lived: only keys that are used often get here, so many a node, and lease_limits() clears
-- away what has not been asked for in minutes. Names of keys and addresses are nowhere: `hash` is made under a secret.

-- The secret. One row, made by the first node that needs it.
create unlogged table limit_seed (
  seed uuid not null default gen_random_uuid(),
  one boolean primary key default true check (one)
);

-- The processes that are there, and the surfaces that each serves.
create unlogged table limit_node (
  node uuid primary key,
  surfaces text[] not null,
  seen_at timestamptz not null
) with (fillfactor = 50);

create unlogged table limit_bucket (
  hash bigint primary key,
  -- Tokens that were spent and not earned back; above the burst when more were spent than there were.
  owed float8 not null default 0,
  -- What was earned while nothing was owed, of all time: it pays what is told later of that time.
  spilled float8 not null default 0,
  -- When that was reckoned.
  at timestamptz not null,
  -- When the other nodes were last told that it is in use.
  told_at timestamptz not null
) with (fillfactor = 50);

create unlogged table limit_lease (
  hash bigint not null,
  node uuid not null,
  -- Tokens that the node has told of since it first leased the key.
  spent float8 not null,
  -- Tokens that it may spend, for a second from `at` on.
  held float8 not null,
  -- What the bucket had spilled when the node last told.
  spilled float8 not null,
  -- How much it is asked for: requests, each counting for less by the time.
  demand float8 not null,
  at timestamptz not null,
  primary key (hash, node)
) with (fillfactor = 50);

-- sql/0017_lead_contact.sql
-- Whom a lead names. Filled behind the commit (fill_lead_contact): indexes on the JSON of the leads cost each commit
-- more than all else that it writes. What a submission names stands with the submission.
create table lead_contact (
  event_id text collate "C" primary key,
  phone text collate "C",
  email text collate "C",
  -- Lower case as far as it is ASCII, and compared by bytes: the same on every server, and it finds how a name begins.
  last_name text collate "C"
);
-- The first five hex digits of an id are a block of 19 hours: what comes now goes to a few pages at the end of
-- each index, and a search asks block by block. Sorted by the value alone, each lead would change three pages
-- anywhere in a gigabyte, each with a full image in the WAL.
create index lead_contact_phone on lead_contact (left(event_id, 5), phone) where phone is not null;
create index lead_contact_email on lead_contact (left(event_id, 5), email) where email is not null;
create index lead_contact_last_name on lead_contact (left(event_id, 5), last_name) where last_name is not null;

-- The batches that are not in it yet, by how the ids of their events begin (event_id_at). Two batches of one
-- microsecond begin alike, and each has its row. A search looks through these events themselves.
create table lead_contact_todo (
  id_start text collate "C" not null
);

-- sql/functions/accept.sql
-- accept: commits a batch of events, all or nothing, and says of each what became of it.
--
-- One call is one transaction: key still active, dedupe decided, event, outbox row, campaign spend and unknown
-- terms; of a form submission what was found of it, and no outbox row when it is held. Each statement sees what
-- committed before it began (READ COMMITTED), so after "insert … on conflict do nothing" has waited for a rival, the
-- next statement reads the rival's event.
--
-- Locks are taken in one order everywhere (dedupe digests, collisions; each sorted), so two processes' batches wait for
-- one another but never in a circle. For a key that is being revoked nobody waits here: then nothing is committed, and
-- the outcome is busy for its entries and undecided for the others.
--
-- While somebody is being erased, and for a minute after, the outcome of all is watched until the call says how old they
-- are and what they have of whom. What is the person's and arrived before the erasure ended is accepted and erased in
-- this transaction, as if it had come a moment earlier: its row stays, a retry is a duplicate, and nothing of it is
-- ever delivered. Not refused, because a client would try again, and that would be a new lead.
--
-- The planner settings: planned once per connection, maybe while the tables are empty, the statements would
-- otherwise keep scanning them whole.
create or replace function accept(
  -- Between the values of a column, and itself turned around for a null: a text that no value has. Split once, each
  -- column costs less to write and to read than as an array with its quotes and escapes. An empty column is all nulls.
  p_separator text,
  p_key_id text,
  p_space text,
  p_digest text,
  p_content text,
  p_idempotency_key text,
  p_flags text,          -- comma-separated
  p_lead text,
  p_extra text,
  p_raw text,
  p_cost_cents text,
  p_unknown_area text,
  p_window_hours int,
  p_node text default '',          -- who commits, so that its own NOTIFY tells it nothing new
  p_form_id text default '',       -- this and the next six: null for a lead, and empty when all are leads
  p_verdict text default '',       -- clean | honeypot | spam
  p_score text default '',
  p_reasons text default '',       -- comma-separated
  p_phone text default '',
  p_email text default '',
  p_last_name text default '',
  p_form_window_minutes int default 0,
  -- Asked for with the outcome watched, and empty otherwise: how long ago each arrived, and its contacts, one a line.
  p_age_ms text default '',
  p_contacts text default ''
)
-- A row an entry, in any order; or, when all are accepted, one with ord 0 and the ids one after another.
returns table (ord int, outcome text, event_id text, received_at text, flags text)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_null text := reverse(p_separator);
  v_key_id int[] := string_to_array(p_key_id, p_separator, v_null)::int[];
  v_space text[] := string_to_array(p_space, p_separator, v_null);
  v_digest uuid[] := string_to_array(p_digest, p_separator, v_null)::uuid[];
  v_content uuid[] := string_to_array(p_content, p_separator, v_null)::uuid[];
  v_idempotency_key text[] := string_to_array(p_idempotency_key, p_separator, v_null);
  v_flags text[] := string_to_array(p_flags, p_separator, v_null);
  v_lead text[] := string_to_array(p_lead, p_separator, v_null);
  v_extra text[] := string_to_array(p_extra, p_separator, v_null);
  v_raw text[] := string_to_array(p_raw, p_separator, v_null);
  v_cost_cents int[] := string_to_array(p_cost_cents, p_separator, v_null)::int[];
  v_unknown_area text[] := string_to_array(p_unknown_area, p_separator, v_null);
  v_form_id int[] := string_to_array(p_form_id, p_separator, v_null)::int[];
  v_verdict text[] := string_to_array(p_verdict, p_separator, v_null);
  v_score int[] := string_to_array(p_score, p_separator, v_null)::int[];
  v_reasons text[] := string_to_array(p_reasons, p_separator, v_null);
  v_phone text[] := string_to_array(p_phone, p_separator, v_null);
  v_email text[] := string_to_array(p_email, p_separator, v_null);
  v_last_name text[] := string_to_array(p_last_name, p_separator, v_null);
  v_age_ms int[] := string_to_array(p_age_ms, p_separator, v_null)::int[];
  v_contacts text[] := string_to_array(p_contacts, p_separator, v_null);
  v_now timestamptz;
  v_id_start text;
  v_received_at text;
  v_won text[];
  v_won_ord int[];
  v_all_won boolean;
  v_has_forms boolean := cardinality(v_form_id) > 0;
  v_busy int[];
  -- The places of those that are erased with their commit.
  v_erased int[] := '{}';
  -- Of the events that won.
  v_held int := 0;
begin
  perform keep_promise();
  -- Each statement has to see what committed before it began; that cannot be set here any more.
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'default_transaction_isolation is %; it must be read committed', current_setting('transaction_isolation')
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  -- Revoking takes the same lock exclusively: once it returns, no event of the key can commit. An advisory lock
  -- and not the row's: waiting for it is fair, while share locks on a row can starve the one who revokes. Who holds it
  -- for long, in a transaction left open by hand, keeps the posts of this one key waiting and nobody else's.
  select array_agg(k.id) into v_busy
  from (select distinct unnest(v_key_id) as id) as k
  where not pg_try_advisory_xact_lock_shared(1, k.id);
  if v_busy is not null then
    return query
    select b.ord::int, case when b.key_id = any (v_busy) then 'busy' else 'undecided' end, null::text, null::text, null::text
    from unnest(v_key_id) with ordinality as b (key_id, ord);
    return;
  end if;

  -- After the locks, which whoever lays a tombstone waits for (wait_for_batches).
  if exists (select from tombstone) then
    -- Not by the contacts: one entry without any is an empty column too.
    if p_age_ms = '' then
      return query
      select b.ord, 'watched', null::text, null::text, null::text from generate_subscripts(v_key_id, 1) as b (ord);
      return;
    end if;
    v_erased := array(
      select distinct c.ord::int
      from unnest(v_age_ms, v_contacts) with ordinality as c (age_ms, contacts, ord)
      cross join lateral string_to_table(c.contacts, E'\n') as t (contact)
      join tombstone as s on s.digest = tombstone_digest(t.contact)
      where statement_timestamp() - make_interval(secs => c.age_ms / 1000.0) <= s.posted_until
    );
  end if;

  v_now := service_clock();
  v_id_start := event_id_at(v_now);
  v_received_at := to_char(v_now at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

  -- A content window that has passed lets go of its digest.
  if v_space && array['c', 'C'] then
    update event as e set dedupe_digest = null
    from (
      select e.event_id
      from unnest(v_key_id, v_space, v_digest) as b (key_id, space, digest)
      join api_key as k on k.id = b.key_id
      join event as e on e.tenant_id = k.tenant_id and e.dedupe_space = b.space::"char" and e.dedupe_digest = b.digest
      where b.space in ('c', 'C') and e.received_at <= v_now - case b.space
        -- Never before the published times, whatever the service asks for.
        when 'c' then make_interval(hours => greatest(p_window_hours, 24))
        else make_interval(mins => greatest(p_form_window_minutes, 10))
      end
      order by e.tenant_id, e.dedupe_digest
      for update of e
    ) as expired
    where e.event_id = expired.event_id;
  end if;

  with inserted as (
    insert into event (
      event_id, kind, tenant_id, key_id, received_at, dedupe_space, dedupe_digest, content_digest,
      idempotency_key, flags, lead, extra, raw
    )
    select
      new_event_id(v_id_start, b.ord), case when b.space in ('k', 'c') then 'lead' else 'form' end, k.tenant_id, b.key_id, v_now, b.space::"char", b.digest, b.content,
      b.idempotency_key, coalesce(string_to_array(nullif(b.flags, ''), ','), '{}'), b.lead::json, b.extra, b.raw
    from unnest(
      v_key_id, v_space, v_digest, v_content, v_idempotency_key, v_flags, v_lead, v_extra, v_raw
    ) with ordinality
      as b (key_id, space, digest, content, idempotency_key, flags, lead, extra, raw, ord)
    join api_key as k on k.id = b.key_id and k.revoked_at is null and k.suspended_at is null
    order by k.tenant_id, b.space, b.digest, b.ord
    on conflict (tenant_id, dedupe_space, dedupe_digest) do nothing
    returning event_id, tenant_id
  ),
  queued as (
    insert into outbox (event_id, tenant_id, due_at)
    select i.event_id, i.tenant_id, v_now from inserted as i
    -- Held ones are delivered once an operator has released them.
    where not v_has_forms
      or coalesce(v_verdict[event_id_place(i.event_id)], 'clean') = 'clean'
  )
  select coalesce(array_agg(i.event_id order by i.event_id), '{}') into v_won from inserted as i;
  v_all_won := cardinality(v_won) = cardinality(v_key_id);
  v_won_ord := case
    when v_all_won then array(select generate_series(1, cardinality(v_won)))
    else array(select event_id_place(w.id) from unnest(v_won) with ordinality as w (id, nth) order by w.nth)
  end;

  if v_won <> '{}' then
    insert into lead_contact_todo (id_start) values (v_id_start);
  end if;

  if v_has_forms and v_won <> '{}' then
    insert into submission (event_id, tenant_id, form_id, verdict, score, reasons, phone, email, last_name)
    select
      w.id, k.tenant_id,
      -- Null, and so refused, when it is another tenant's: the one who calls says which form it was.
      (select f.id from form as f where f.id = v_form_id[w.ord] and f.tenant_id = k.tenant_id), v_verdict[w.ord], v_score[w.ord],
      coalesce(string_to_array(nullif(v_reasons[w.ord], ''), ','), '{}'), v_phone[w.ord], v_email[w.ord],
      v_last_name[w.ord]
    from unnest(v_won_ord, v_won) as w (ord, id)
    join api_key as k on k.id = v_key_id[w.ord]
    where v_form_id[w.ord] is not null;

    select count(*) into v_held from unnest(v_won_ord) as w (ord) where v_verdict[w.ord] <> 'clean';
  end if;

  if cardinality(v_won) > v_held then
    insert into outbox_tally (state, delta) values ('pending', cardinality(v_won) - v_held);

    if array_remove(v_cost_cents, null) <> '{}' then
      insert into campaign_charge (campaign_id, cents)
      select k.campaign_id, sum(v_cost_cents[w.ord]::lead_cost_cents)
      from unnest(v_won_ord) as w (ord)
      join api_key as k on k.id = v_key_id[w.ord]
      where k.campaign_id is not null and v_cost_cents[w.ord] is not null
      group by k.campaign_id;
    end if;

    if array_remove(v_unknown_area, null) <> '{}' then
      insert into unknown_area_seen (tenant_id, term, count, first_at, last_at)
      select k.tenant_id, v_unknown_area[w.ord], count(*), v_now, v_now
      from unnest(v_won_ord) as w (ord)
      join api_key as k on k.id = v_key_id[w.ord]
      where v_unknown_area[w.ord] is not null
      group by k.tenant_id, v_unknown_area[w.ord];
    end if;

    -- A hint to other nodes, once per batch: it takes a database-wide lock at commit.
    perform pg_notify('outbox', p_node);
  end if;

  if v_erased <> '{}' then
    perform erase_event(w.id, null, '{}') from unnest(v_won_ord, v_won) as w (ord, id) where w.ord = any (v_erased);
  end if;

  if v_all_won then
    return query select 0, 'accepted', array_to_string(v_won, ''), v_received_at, null::text;
    return;
  end if;
  return query
  select w.ord, 'accepted', w.id, v_received_at, null::text
  from unnest(v_won_ord, v_won) as w (ord, id);

  insert into collision as c (
    event_id, content_digest, key_id, count, first_at, last_at, lead, extra, raw, flags,
    form_id, score, reasons, phone, email, last_name, other_person
  )
  select distinct on (e.event_id, l.content)
    e.event_id, l.content, l.key_id, count(*) over (partition by e.event_id, l.content), v_now, v_now,
    l.lead::json, l.extra, l.raw, coalesce(string_to_array(nullif(l.flags, ''), ','), '{}'),
    (select f.id from form as f where f.id = v_form_id[l.ord] and f.tenant_id = k.tenant_id), v_score[l.ord],
    case when v_form_id[l.ord] is not null then coalesce(string_to_array(nullif(v_reasons[l.ord], ''), ','), '{}') end,
    v_phone[l.ord], v_email[l.ord], v_last_name[l.ord],
    case
      when t.phone <> t.event_phone or t.email <> t.event_email then true
      -- Nothing in common that could be compared.
      else coalesce(t.phone = t.event_phone, t.email = t.event_email) is null
    end
  from unnest(v_key_id, v_space, v_digest, v_content, v_flags, v_lead, v_extra, v_raw) with ordinality
    as l (key_id, space, digest, content, flags, lead, extra, raw, ord)
  join api_key as k on k.id = l.key_id and k.revoked_at is null and k.suspended_at is null
  join event as e
    on e.tenant_id = k.tenant_id and e.dedupe_space = l.space::"char" and e.dedupe_digest = l.digest
  left join submission as s on s.event_id = e.event_id
  cross join lateral (
    select
      coalesce(v_phone[l.ord], l.lead::json ->> 'phone') as phone, coalesce(s.phone, e.lead ->> 'phone') as event_phone,
      lower(coalesce(v_email[l.ord], l.lead::json ->> 'email')) as email,
      lower(coalesce(s.email, e.lead ->> 'email')) as event_email
  ) as t
  where l.space in ('k', 'K') and e.content_digest <> l.content and l.ord <> all (v_erased)
  order by e.event_id, l.content, l.ord
  on conflict (event_id, content_digest) do update
    set count = c.count + excluded.count, last_at = excluded.last_at;

  -- A duplicate's answer is a promise too. A record of this transaction's own makes its commit wait for disk and
  -- synchronous standby, and with it for the event that it found: that one's wait may have been cancelled.
  if cardinality(v_won) = 0 then
    perform pg_logical_emit_message(true, 'duplicate', '');
  end if;

  return query
  select
    l.ord::int, case when k.revoked_at is null and k.suspended_at is null then 'duplicate' else 'revoked' end, e.event_id,
    to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), array_to_string(e.flags, ',')
  from unnest(v_key_id, v_space, v_digest) with ordinality as l (key_id, space, digest, ord)
  join api_key as k on k.id = l.key_id
  left join event as e
    on e.tenant_id = k.tenant_id and e.dedupe_space = l.space::"char" and e.dedupe_digest = l.digest
      and k.revoked_at is null and k.suspended_at is null
  where l.ord <> all (v_won_ord);
end
$$;

-- sql/functions/accept_collision.sql
-- Makes an event of its own of what was kept aside: tenant, key and source of its post, received now, without an
-- Idempotency-Key, which the first event keeps, and without a digest, so that a retry of either post is answered as
-- before. All that belongs to an accepted event is there with it (accept), in one transaction, with who did it.
--
-- The content moves: the collision keeps its digest and its count, so that it is erased, expires and is found in one
-- place. A submission is clean, whatever its score: somebody has looked at it.
--
-- Returns what became of it, and the event: accepted | already | erased | unknown | busy (a person is being erased at this
-- moment, who may be this one, or the key is being revoked: nothing was done).
create or replace function accept_collision(
  p_id bigint, p_way text default 'ctl', p_claimed text default current_setting('lead_intake.claimed', true)
)
returns table (outcome text, event_id text)
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_id text := new_event_id(event_id_at(v_now), 1);
  v_key api_key;
  v_kind text;
  v_one collision;
begin
  select k.* into v_key from collision as c join api_key as k on k.id = c.key_id where c.id = p_id;
  if not found then
    return query select 'unknown', null::text;
    return;
  end if;
  -- The lock that batches hold: whoever lays a tombstone waits for it, and then reads the event (wait_for_batches).
  if not pg_try_advisory_xact_lock_shared(1, v_key.id) or exists (select from tombstone) then
    return query
    select case when c.lead is not null then 'busy' when c.accepted_event_id is null then 'erased' else 'already' end,
      c.accepted_event_id
    from collision as c where c.id = p_id;
    return;
  end if;

  select c.* into v_one from collision as c where c.id = p_id for no key update;
  if v_one.lead is null then
    return query
    select case when v_one.accepted_event_id is null then 'erased' else 'already' end, v_one.accepted_event_id;
    return;
  end if;

  select e.kind into v_kind from event as e where e.event_id = v_one.event_id;
  insert into event (
    event_id, kind, tenant_id, key_id, received_at, dedupe_space, content_digest, flags, lead, extra, raw
  )
  values (
    v_id, v_kind, v_key.tenant_id, v_key.id, v_now, case v_kind when 'lead' then 'c' else 'C' end,
    v_one.content_digest, v_one.flags, v_one.lead, v_one.extra, v_one.raw
  );
  if v_kind = 'form' then
    insert into submission (event_id, tenant_id, form_id, verdict, score, reasons, phone, email, last_name)
    values (
      v_id, v_key.tenant_id, v_one.form_id, 'clean', v_one.score, v_one.reasons, v_one.phone, v_one.email,
      v_one.last_name
    );
  end if;
  insert into lead_contact_todo (id_start) values (event_id_at(v_now));
  insert into outbox (event_id, tenant_id, due_at) values (v_id, v_key.tenant_id, v_now);
  insert into outbox_tally (state, delta) values ('pending', 1);

  if v_kind = 'lead' and v_key.campaign_id is not null and v_one.lead ->> 'cost_cents' is not null then
    insert into campaign_charge (campaign_id, cents)
    values (v_key.campaign_id, (v_one.lead ->> 'cost_cents')::lead_cost_cents);
  end if;
  if v_kind = 'lead' and 'project_area_unknown' = any (v_one.flags) then
    insert into unknown_area_seen (tenant_id, term, count, first_at, last_at)
    values (v_key.tenant_id, v_one.lead ->> 'project_area', 1, v_now, v_now);
  end if;

  update collision as c
  set settled_at = v_now, accepted_event_id = v_id, lead = null, extra = null, raw = null, phone = null, email = null,
    last_name = null
  where c.id = p_id;
  perform pg_notify('outbox', '');
  perform append_audit(
    p_way, p_claimed, 'collision.accept', array[v_id, v_one.event_id], json_build_object('collision', p_id)
  );
  return query select 'accepted', v_id;
end
$$;

-- The same from the console; p_claimed is the address that it was asked from.
create or replace function console_accept_collision(p_id bigint, p_claimed text)
returns table (outcome text, event_id text)
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select * from accept_collision(p_id, 'console', p_claimed) $$;

-- sql/functions/actions_begin_digest.sql
-- Claims one recipient's daily digest that is due, and counts what it tells; no row when none is due. Numbers and the
-- labels of sources, nothing of a lead.
--
-- Due are those of tenants with a time for it that are not disabled, at each of the tenant's own mail recipients; the
-- first is due at that time after the recipient was first seen here. One that was missed, because the process or the mail
-- server was away, is sent late and once, and tells of the time since the last that was sent, of a week at most. Whoever
-- holds the lease says what became of it with actions.settle_digest.
--
-- It tells of whole hours, up to the one that ended before it was due, because these are summed up (roll_up_hours): of a
-- tenant's hundred sources it reads some thousands of rows of hour_total, with a million leads a day no more than with a
-- thousand. It waits a quarter of an hour for the last of them. Submissions that are held did not come to anybody, so
-- they are counted beside what came, and a source that sends nothing else is silent. What waits, is held or is dead is
-- counted up to ten thousand; one more stands for more.
create or replace function actions.begin_digest(p_lease uuid, p_lease_ms int)
returns table (
  tenant_id int, route_id int, tenant text, name text, time_zone text, address text,
  since text, until text, is_behind boolean, figures json
)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v record;
  v_end timestamptz;
  v_since timestamptz;
  v_until timestamptz;
  v_iso constant text := 'YYYY-MM-DD"T"HH24:MI:SS"Z"';
begin
  delete from actions.digest as d
  where not exists (
    select from tenant as t where t.id = d.tenant_id and t.digest_at is not null and t.disabled_at is null
  );
  insert into actions.digest (tenant_id, route_id, due_at, told_until)
  select t.id, r.id, x.due_at, date_trunc('hour', x.due_at, 'UTC')
  from tenant as t
  join actions.route as r on r.tenant_id = t.id and r.kind = 'email' and r.source = '' and r.form = ''
  cross join lateral actions.digest_due(v_now, t.time_zone, t.digest_at) as x (due_at)
  where t.digest_at is not null and t.disabled_at is null and not t.sandbox
    and not exists (select from actions.digest as d where d.tenant_id = t.id and d.route_id = r.id)
  on conflict do nothing;

  select d.*, x.due_at as now_due_at, t.slug, t.name, t.time_zone, r.address,
    exists (select from hour_rolled as h where h.hour = date_trunc('hour', x.due_at, 'UTC') - interval '1 hour') as is_rolled
  into v
  from actions.digest as d
  join tenant as t on t.id = d.tenant_id
  join actions.route as r on r.tenant_id = d.tenant_id and r.id = d.route_id
  cross join lateral actions.digest_due(v_now, t.time_zone, t.digest_at) as x (due_at)
  where x.due_at > d.due_at
    and (d.lease is null or d.lease_until <= v_now)
    and (d.next_at <= v_now or d.trying_at is distinct from x.due_at)
    and (
      v_now >= x.due_at + interval '15 minutes'
      or exists (select from hour_rolled as h where h.hour = date_trunc('hour', x.due_at, 'UTC') - interval '1 hour')
    )
  order by x.due_at, d.tenant_id, d.route_id
  limit 1
  for update of d skip locked;
  if not found then
    return;
  end if;

  v_end := date_trunc('hour', v.now_due_at, 'UTC');
  v_until := case
    when v.is_rolled then v_end
    else coalesce((select max(h.hour) + interval '1 hour' from hour_rolled as h where h.hour < v_end), v_end)
  end;
  v_until := greatest(v_until, v.told_until);
  v_since := greatest(v.told_until, v_until - interval '7 days');
  update actions.digest as d
  set lease = p_lease, lease_until = v_now + make_interval(secs => p_lease_ms / 1000.0),
    trying_at = v.now_due_at, trying_until = v_until,
    attempts = case when d.trying_at = v.now_due_at then d.attempts + 1 else 1 end
  where d.tenant_id = v.tenant_id and d.route_id = v.route_id;

  return query
  with held as materialized (
    select
      -- Looked up one by one: a join may walk all events of the span, of all tenants.
      (select e.key_id from event as e where e.event_id = s.event_id) as key_id,
      date_trunc('hour', event_id_time(s.event_id), 'UTC') as hour, count(*) as count
    from submission as s
    where s.tenant_id = v.tenant_id and s.verdict <> 'clean' and s.released_at is null
      and s.event_id >= event_id_at(v_since - interval '7 days') and s.event_id < event_id_at(v_until)
    group by 1, 2
  ),
  -- What is held has not come yet: of an hour it is taken away.
  hours as (
    select p.key_id, p.hour, greatest(0, sum(p.accepted) - sum(p.held)) as came, sum(p.held) as held,
      sum(p.spend_cents) as spend_cents
    from (
      select h.key_id, h.hour, h.accepted, h.spend_cents, 0 as held
      from api_key as k join hour_total as h on h.key_id = k.id
      where k.tenant_id = v.tenant_id and h.hour >= v_since - interval '7 days' and h.hour < v_until
      union all
      select x.key_id, x.hour, 0, 0, x.count from held as x
    ) as p
    group by p.key_id, p.hour
  ),
  source as materialized (
    select k.label, k.surface, bool_or(k.revoked_at is null) as is_active,
      coalesce(sum(h.came) filter (where h.hour >= v_since), 0) as accepted,
      coalesce(sum(h.came) filter (where h.hour >= v_since - (v_until - v_since) and h.hour < v_since), 0) as before,
      coalesce(sum(h.held) filter (where h.hour >= v_since), 0) as held,
      coalesce(sum(h.spend_cents) filter (where h.hour >= v_since), 0) as spend_cents,
      max(h.hour) filter (where h.came > 0) as last_hour
    from api_key as k
    left join hours as h on h.key_id = k.id
    where k.tenant_id = v.tenant_id
    group by k.label, k.surface
  )
  select v.tenant_id, v.route_id, v.slug, v.name, v.time_zone, v.address,
    to_char(v_since at time zone 'UTC', v_iso), to_char(v_until at time zone 'UTC', v_iso), v_until < v_end,
    json_build_object(
      'sources', (
        select coalesce(json_agg(s), '[]') from (
          select s.label as source, case s.surface when 'forms' then 'form' else 'lead' end as kind, s.accepted, s.before,
            s.held
          from source as s where s.accepted + s.before + s.held > 0
          order by s.accepted desc, s.held desc, s.label limit 50
        ) as s
      ),
      'more_sources', greatest(0, (select count(*) from source as s where s.accepted + s.before + s.held > 0) - 50),
      'leads', (select coalesce(sum(s.accepted), 0) from source as s where s.surface = 'intake'),
      'leads_before', (select coalesce(sum(s.before), 0) from source as s where s.surface = 'intake'),
      'messages', (select coalesce(sum(s.accepted), 0) from source as s where s.surface = 'forms'),
      'messages_before', (select coalesce(sum(s.before), 0) from source as s where s.surface = 'forms'),
      'messages_held', (select coalesce(sum(s.held), 0) from source as s),
      'spend_cents', (select coalesce(sum(s.spend_cents), 0) from source as s),
      'silent', (
        select coalesce(json_agg(s), '[]') from (
          select s.label as source, to_char(s.last_hour at time zone 'UTC', v_iso) as last_hour from source as s
          where s.is_active and s.accepted = 0 and s.last_hour is not null order by s.last_hour desc, s.label limit 20
        ) as s
      ),
      'waiting', w.count,
      'oldest_waiting_s', extract(epoch from v_now - event_id_time(w.oldest))::bigint,
      'dead', (
        select count(*) from (select from dead_letter as d where d.tenant_id = v.tenant_id limit 10001) as d
      ),
      'held', (
        select count(*) from (
          select from submission as s
          where s.tenant_id = v.tenant_id and s.verdict <> 'clean' and s.released_at is null and s.dismissed_at is null
          limit 10001
        ) as s
      ),
      'collisions', (
        select count(*) from (
          select from collision as c join api_key as k on k.id = c.key_id
          where k.tenant_id = v.tenant_id and c.other_person and c.settled_at is null limit 10001
        ) as c
      )
    )
  from (
    select count(*) as count, min(o.event_id) as oldest
    from (select o.event_id from outbox as o where o.tenant_id = v.tenant_id limit 10001) as o
  ) as w;
end
$$;

-- sql/functions/actions_begin_effects.sql
-- Looks up where an event goes and claims what is left to do for it: a row an effect, one a recipient; no row when there
-- is no such tenant, one row without an effect when there is none.
--
-- An effect is done, due (claimed for p_lease, until the lease ends) or busy (another claim holds it, for so long yet).
-- The first columns are the tenant's, the same in each row. One that was done before its route was taken away is told
-- too, without an address. Whoever holds the lease says what became of it with actions.settle_effect. When he dies in
-- between, the lease ends and the effect is begun again, under the same event id.
--
-- p_form: '' for a lead.
create or replace function actions.begin_effects(
  p_event_id text, p_tenant text, p_source text, p_form text, p_lease uuid, p_lease_ms int
)
returns table (
  sandbox boolean, name text, time_zone text,
  effect text, route_id int, round int, state text, busy_ms int, address text, secret text, secret_before text
)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
-- Planned while the table is empty, it would go on scanning it whole.
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_tenant tenant;
begin
  perform keep_promise();
  select t.* into v_tenant from tenant as t where t.slug = p_tenant;
  if not found then
    return;
  end if;

  -- Two claims at once: the second waits for the first one's row and then sees its lease.
  insert into actions.effect as e (event_id, route_id, effect, lease, lease_until)
  select p_event_id, r.id, r.kind, p_lease, v_now + make_interval(secs => p_lease_ms / 1000.0)
  from actions.routes_for(v_tenant.id, p_source, p_form) as r
  -- Where there is one recipient, done is done, also when the route was taken away and another one made since.
  where r.kind = 'email' or not exists (
    select from actions.effect as d
    where d.event_id = p_event_id and d.effect = r.kind and d.is_done and d.route_id <> r.id
  )
  order by r.id
  on conflict (event_id, route_id) do update
    set lease = excluded.lease, lease_until = excluded.lease_until, attempts = e.attempts + 1
    where not e.is_done and (e.lease is null or e.lease_until <= v_now);

  -- The route is read anew. What was added meanwhile has no effect yet and is left out; so is what was taken away,
  -- whose lease ends by itself. Kept in an array between the two, the route took 30 % more processor time.
  return query
  select
    v_tenant.sandbox, v_tenant.name, v_tenant.time_zone, e.effect, e.route_id, e.round,
    case
      when e.is_done then 'done'
      when e.lease = p_lease then 'due'
      when e.effect is not null then 'busy'
    end,
    (extract(epoch from e.lease_until - v_now) * 1000)::int,
    r.address, r.secret, case when r.secret_before_until > v_now then r.secret_before end
  from (select) as always
  left join (
    actions.effect as e left join actions.routes_for(v_tenant.id, p_source, p_form) as r on r.id = e.route_id
  )
    on e.event_id = p_event_id and (e.is_done or r.kind is not null)
  order by e.route_id;
end
$$;

-- sql/functions/actions_digest_due.sql
-- When a daily digest was due last, by the clock of a zone. A time that the clock skips in spring is due as much later;
-- one that comes twice in autumn is due once. In a zone that the database knows no more, by UTC.
create or replace function actions.digest_due(p_now timestamptz, p_zone text, p_at time) returns timestamptz
language plpgsql stable
as $$
declare
  v_day date;
begin
  -- Here, where what it throws is caught.
  v_day := (p_now at time zone p_zone)::date;
  -- Today's by that clock, else the one before. Compared as moments: the clock's own times go back and forth.
  return case
    when (v_day + p_at) at time zone p_zone <= p_now then (v_day + p_at) at time zone p_zone
    else (v_day - 1 + p_at) at time zone p_zone
  end;
exception
  when invalid_parameter_value then
    return actions.digest_due(p_now, 'UTC', p_at);
end
$$;

-- sql/functions/actions_note_route.sql
-- Keeps tenant.has_route, and wakes the delivery loops when a route appears: what waited for it goes at once.
create or replace function actions.note_route() returns trigger
language plpgsql
set enable_seqscan = off
as $$
begin
  update tenant as t
  set has_route = exists (select from actions.route as r where r.tenant_id = t.id)
  where t.id = any (array[
    case when tg_op <> 'INSERT' then old.tenant_id end,
    case when tg_op <> 'DELETE' then new.tenant_id end
  ]);
  if tg_op <> 'DELETE' then
    -- What no route of the tenant has taken waits for some time, up to an hour. What somebody is at is left to him.
    update outbox as o set due_at = service_clock()
    from (
      select o.event_id from outbox as o
      where o.tenant_id = new.tenant_id and o.reason = 'no_route' and o.lease is null and o.due_at > service_clock()
      for update skip locked
    ) as w
    where o.event_id = w.event_id;
    perform pg_notify('outbox', '');
  end if;
  return null;
end
$$;

create or replace trigger note_route
after insert or update or delete on actions.route
for each row execute function actions.note_route();

-- sql/functions/actions_routes_for.sql
-- The routes that take an event: of each kind the closest ones, those of its form, else those of its source, else the
-- tenant's own. p_form: '' for a lead. The one place that knows; the planner puts it into whoever asks.
create or replace function actions.routes_for(p_tenant_id int, p_source text, p_form text)
returns setof actions.route
language sql stable
as $$
  select r.* from actions.route as r
  where r.tenant_id = p_tenant_id and r.source in ('', p_source) and r.form in ('', p_form)
    and not exists (
      select from actions.route as c
      where c.tenant_id = p_tenant_id and c.kind = r.kind and c.closeness > r.closeness
        and c.source in ('', p_source) and c.form in ('', p_form)
    );
$$;

-- sql/functions/actions_routes_of.sql
-- Where the events of a source or a form go, or with both empty those that no closer route takes, with the tenant's
-- names in each row; one row without a route when there is none, no row when there is no such tenant. Nothing is begun.
create or replace function actions.routes_of(p_tenant text, p_source text, p_form text)
returns table (
  sandbox boolean, name text, time_zone text,
  route_id int, kind text, address text, secret text, secret_before text
)
language sql stable
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  select t.sandbox, t.name, t.time_zone, r.id, r.kind, r.address, r.secret,
    case when r.secret_before_until > service_clock() then r.secret_before end
  from tenant as t
  left join lateral actions.routes_for(t.id, p_source, p_form) as r on true
  where t.slug = p_tenant
  order by r.kind, r.id;
$$;

-- sql/functions/actions_set_route.sql
-- Changes where a tenant's leads go: those of a source, of a form, or with both empty all that no closer route takes.
-- p_changes is an array of objects, one a destination: its kind; addresses, when it gets those (more than one for mail
-- only); clear, to take it away; rotate, for another secret; secret, the one that it gets if it needs one. What is left
-- out stays. Returns the kinds with a new secret, or null when there is no such tenant.
--
-- What has changed is noted, and never an address: that of a mailbox is somebody's, and a URL may hold a token.
--
-- A new address gets a new secret: its owner must not be able to sign for the one before, nor the other way round. When
-- the secret alone is rotated, the one before stays valid for p_overlap.
create or replace function actions.set_route(
  p_tenant_id int, p_source text, p_form text, p_changes json, p_overlap interval, p_routes_max int
) returns text[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_slug text;
  v_before actions.route[];
  v_after actions.route[];
  v_note jsonb;
  v_is_changed boolean;
  v_renewed text[];
begin
  -- One change of a tenant's route at a time, also while it has none.
  select t.slug into v_slug from tenant as t where t.id = p_tenant_id for no key update;
  if not found then
    return null;
  end if;
  v_before := array(
    select r from actions.route as r where r.tenant_id = p_tenant_id and r.source = p_source and r.form = p_form
  );

  -- Who is no longer among the recipients makes room for who is new, place by place: a row that gets another address
  -- stays the same row, so that what was done for an event stays done.
  with wanted as (
    select c.kind, a.address, c.secret
    from json_to_recordset(p_changes) as c (kind text, addresses text[], secret text)
    cross join lateral unnest(c.addresses) as a (address)
  ),
  old as (
    select r.id, r.kind, row_number() over (partition by r.kind order by r.id) as place
    from unnest(v_before) as r
    join json_to_recordset(p_changes) as c (kind text, addresses text[], clear boolean) on c.kind = r.kind
    where c.clear or r.address <> all (c.addresses)
  ),
  new as (
    select w.*, row_number() over (partition by w.kind order by w.address) as place
    from wanted as w
    where not exists (select from unnest(v_before) as r where r.kind = w.kind and r.address = w.address)
  ),
  moved as (
    update actions.route as r set
      address = n.address, secret = n.secret, secret_before = null, secret_before_until = null,
      changed_at = service_clock()
    from old as o join new as n on n.kind = o.kind and n.place = o.place
    where r.tenant_id = p_tenant_id and r.id = o.id
  ),
  gone as (
    delete from actions.route as r
    using old as o left join new as n on n.kind = o.kind and n.place = o.place
    where r.tenant_id = p_tenant_id and r.id = o.id and n.kind is null
  )
  insert into actions.route (tenant_id, kind, source, form, address, secret)
  select p_tenant_id, n.kind, p_source, p_form, n.address, n.secret
  from new as n left join old as o on o.kind = n.kind and o.place = n.place
  where o.kind is null
  order by n.place;

  if (select count(*) from actions.route as r where r.tenant_id = p_tenant_id) > p_routes_max then
    raise exception 'a tenant has no more than % routes', p_routes_max
      using errcode = 'check_violation', constraint = 'a_tenant_has_so_many_routes';
  end if;

  update actions.route as r set
    secret = c.secret, secret_before = r.secret, secret_before_until = service_clock() + p_overlap,
    changed_at = service_clock()
  from json_to_recordset(p_changes) as c (kind text, rotate boolean, secret text)
  -- With a new address it has this secret already.
  where r.tenant_id = p_tenant_id and r.source = p_source and r.form = p_form and r.kind = c.kind
    and c.rotate and r.secret <> c.secret;

  v_after := array(
    select r from actions.route as r where r.tenant_id = p_tenant_id and r.source = p_source and r.form = p_form
  );
  select
    jsonb_object_agg(kind, actions.change_of(b.addresses, a.addresses)),
    coalesce(bool_or(b.addresses is distinct from a.addresses), false),
    coalesce(array_agg(kind) filter (where a.secret is distinct from b.secret and a.secret is not null), '{}')
  into v_note, v_is_changed, v_renewed
  from json_to_recordset(p_changes) as c (kind text)
  full join (
    select kind, array_agg(r.address order by r.address) as addresses, max(r.secret) as secret
    from unnest(v_before) as r group by kind
  ) as b using (kind)
  full join (
    select kind, array_agg(r.address order by r.address) as addresses, max(r.secret) as secret
    from unnest(v_after) as r group by kind
  ) as a using (kind);

  if v_is_changed or v_renewed <> '{}' then
    v_note := v_note || jsonb_build_object('new_secret', v_renewed <> '{}')
      || jsonb_strip_nulls(jsonb_build_object('source', nullif(p_source, ''), 'form', nullif(p_form, '')));
    perform note_audit('tenant.route', v_slug, v_note::json);
  end if;
  return v_renewed;
end
$$;

-- What became of a destination, in a word: none | set | changed | kept | cleared.
create or replace function actions.change_of(p_before text[], p_after text[]) returns text
language sql immutable
as $$
  select case
    when p_before is null and p_after is null then 'none'
    when p_before is null then 'set'
    when p_after is null then 'cleared'
    when p_before = p_after then 'kept'
    else 'changed'
  end;
$$;

-- sql/functions/actions_settle_digest.sql
-- Says what became of a digest: sent (p_reason is null), or why not, in a word. One that failed is tried again after a
-- minute, then two, up to an hour, until the next day's is due and tells of both.
create or replace function actions.settle_digest(p_tenant_id int, p_route_id int, p_lease uuid, p_reason text)
returns void
language sql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  update actions.digest as d
  set lease = null, lease_until = null, reason = p_reason,
    due_at = case when p_reason is null then d.trying_at else d.due_at end,
    told_until = case when p_reason is null then d.trying_until else d.told_until end,
    next_at = case
      when p_reason is null then '-infinity'
      else service_clock() + least(interval '1 hour', interval '1 minute' * power(2, least(d.attempts - 1, 10)))
    end
  where d.tenant_id = p_tenant_id and d.route_id = p_route_id and d.lease = p_lease;
$$;

-- sql/functions/actions_settle_effect.sql
-- Records what became of an effect: done (p_reason null) or why not, and what the other side said. What is done is done,
-- also when the lease has ended meanwhile, but not when an operator has asked for it anew since; a failure counts only
-- from whoever holds the lease.
create or replace function actions.settle_effect(
  p_event_id text, p_route_id int, p_round int, p_lease uuid, p_reason text, p_status int, p_answer text
) returns void
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_removed_at timestamptz;
begin
  perform keep_promise();
  -- Nothing that may quote a lead is written after its erasure. The event is locked first, as an erasure does: that one
  -- either waits and takes the answer away, or has committed. The effect's row is no such lock: one that was made while
  -- the erasure was at work is none of those that it looks at.
  if p_answer is not null then
    select v.removed_at into v_removed_at from event as v where v.event_id = p_event_id for share;
    if v_removed_at is not null then
      p_answer := null;
    end if;
  end if;

  update actions.effect as e
  set lease = null, lease_until = null, is_done = p_reason is null, settled_at = service_clock(),
    reason = p_reason, status = p_status, answer = p_answer
  where e.event_id = p_event_id and e.route_id = p_route_id and e.round = p_round and not e.is_done
    and (p_reason is null or e.lease = p_lease);
end
$$;

-- sql/functions/add_duplicates.sql
-- Adds duplicates counted in a process's memory to the totals.
create or replace function add_duplicates(p_key_id int[], p_count int[]) returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  insert into duplicate_total as t (day, key_id, count)
  select (service_clock() at time zone 'UTC')::date, d.key_id, sum(d.count)
  from unnest(p_key_id, p_count) as d (key_id, count)
  group by 1, 2
  order by 1, 2
  on conflict (day, key_id) do update set count = t.count + excluded.count;
$$;

-- sql/functions/add_minute_sample.sql
-- Notes what a process did in the last minute, and forgets what is older than the plots go back.
create or replace function add_minute_sample(
  p_node text, p_accepted int, p_refused int, p_delivered int, p_failed int, p_died int,
  p_refusals json, p_pending bigint, p_dead bigint, p_oldest_pending_s double precision, p_breaker text
) returns void
language plpgsql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
  -- Whoever calls: counts by a few words, none of them taken back.
  if json_typeof(p_refusals) <> 'object'
    or (select count(*) from json_each_text(p_refusals)) > 64
    or exists (
      select from json_each_text(p_refusals) as e
      where e.key !~ '^[a-z0-9_]{1,40}$' or coalesce(e.value, '') !~ '^[0-9]{1,9}$'
    )
  then
    raise exception 'refusals are counts by code' using errcode = 'check_violation';
  end if;

  insert into minute_sample as s
    (at, node, accepted, refused, delivered, failed, died, refusals, pending, dead, oldest_pending_s, breaker)
  values (
    date_trunc('minute', service_clock()), p_node, p_accepted, p_refused, p_delivered, p_failed, p_died,
    p_refusals, p_pending, p_dead, p_oldest_pending_s, p_breaker
  )
  on conflict (at, node) do update set
    accepted = s.accepted + excluded.accepted, refused = s.refused + excluded.refused,
    delivered = s.delivered + excluded.delivered, failed = s.failed + excluded.failed,
    died = s.died + excluded.died,
    refusals = (
      select coalesce(json_object_agg(b.code, b.count), '{}')
      from (
        select e.key as code, sum(e.value::bigint) as count
        from (select * from json_each_text(s.refusals) union all select * from json_each_text(excluded.refusals)) as e
        group by e.key
      ) as b
    ),
    pending = excluded.pending, dead = excluded.dead, oldest_pending_s = excluded.oldest_pending_s,
    breaker = excluded.breaker;

  delete from minute_sample where at < service_clock() - interval '31 days';
end
$$;

-- sql/functions/add_refusals.sql
-- Adds refusals counted in a process's memory to the totals, and notes when keys were last used: no
-- later than now.
create or replace function add_refusals(
  p_key_id int[], p_reason text[], p_field text[], p_count int[], p_used_key_id int[], p_used_at text[]
) returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  insert into refusal_total as t (day, key_id, reason, field, count)
  select (service_clock() at time zone 'UTC')::date, r.key_id, r.reason, r.field, sum(r.count)
  from unnest(p_key_id, p_reason, p_field, p_count) as r (key_id, reason, field, count)
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (day, key_id, reason, field) do update set count = t.count + excluded.count;

  update api_key as k set last_used_at = greatest(k.last_used_at, least(u.used_at::timestamptz, service_clock()))
  from (select * from unnest(p_used_key_id, p_used_at) as u (id, used_at) order by 1) as u
  where k.id = u.id and isfinite(u.used_at::timestamptz);
$$;

-- sql/functions/append_audit.sql
-- Adds rows to the audit, one for each subject, at one time and as one deed, so that what was done at once is found
-- together.
--
-- Who acted is the role that has logged in (session_user: neither set role nor a function that runs with its owner's
-- rights changes it), after the word for the way he came: "ctl", or "console" for the functions that the service's role
-- may call. What he says of himself stands beside it, as claimed.
--
-- Whoever adds waits here for the one before to commit or to give up: add at the end of what is done, so that no lock
-- is waited for while this one is held. Nothing of the intake adds to the audit.
create or replace function append_audit(
  p_way text, p_claimed text, p_action text, p_subject text[], p_detail json
) returns void
language plpgsql
as $$
declare
  v_now timestamptz := service_clock();
  v_actor text := p_way || ' ' || session_user;
  -- It is said by whoever acts, and need not be long.
  v_claimed text := left(nullif(p_claimed, ''), 200);
  v_subject text;
  v_id bigint;
  v_digest bytea;
begin
  perform keep_promise();
  select h.id, h.digest into strict v_id, v_digest from audit_head as h for update;
  foreach v_subject in array p_subject loop
    v_id := v_id + 1;
    v_digest := audit_digest(v_digest, v_id, v_now, v_actor, v_claimed, p_action, v_subject, p_detail);
    insert into audit (id, at, actor, claimed, action, subject, detail, digest)
    values (v_id, v_now, v_actor, v_claimed, p_action, v_subject, p_detail, v_digest);
  end loop;
  update audit_head set id = v_id, digest = v_digest;
end
$$;

-- The digest of a row of the audit: SHA-256 over the digest of the row before, in hex (none: an empty text), and the
-- row as the text of a JSON array: number, time, actor, what is claimed, action, subject, detail as text. Whoever has
-- the rows can compute it in any language (src/store/operator/audit_chain.ts does).
create or replace function audit_digest(
  p_before bytea, p_id bigint, p_at timestamptz, p_actor text, p_claimed text, p_action text, p_subject text,
  p_detail json
) returns bytea
language sql stable
as $$
  select sha256(convert_to(
    encode(p_before, 'hex') || json_build_array(
      p_id, to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), p_actor, p_claimed, p_action, p_subject,
      p_detail::text
    )::text,
    'UTF8'
  ));
$$;

-- sql/functions/apply_provider_event.sql
-- Takes an event of the payment provider, once, and moves the subscription that it is about to p_state.
--
-- Events come in any order. The one with the later time of the provider's clock decides; its seconds are whole, and
-- among events of one second the one further on in a subscription's life does. What has ended has ended.
--
-- Returns applied, stale (something later is known; the ids are noted all the same), unknown (no such subscription:
-- it is of somebody else's making), or duplicate.
create or replace function apply_provider_event(
  p_event_id text, p_type text, p_created timestamptz, p_id uuid, p_session_id text, p_subscription_id text,
  p_customer_id text, p_state text
)
returns text
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
  v_life constant text[] := array[
    'opening', 'open', 'expired', 'failed', 'incomplete', 'incomplete_expired', 'trialing', 'active', 'past_due',
    'unpaid', 'paused', 'canceled'
  ];
  v_now timestamptz := service_clock();
  v_known subscription;
  v_moves boolean;
begin
  perform keep_promise();
  insert into provider_event (event_id, type, created_at, received_at)
  values (p_event_id, p_type, p_created, v_now)
  on conflict (event_id) do nothing;
  if not found then
    return 'duplicate';
  end if;

  select s.* into v_known from subscription as s
  where s.id = p_id or s.session_id = p_session_id or s.provider_subscription_id = p_subscription_id
  order by s.provider_subscription_id = p_subscription_id desc nulls last, s.id = p_id desc nulls last
  limit 1
  for update;
  -- A subscription that somebody has copied, with our reference in it, is another one.
  if not found or v_known.provider_subscription_id <> p_subscription_id or v_known.session_id <> p_session_id then
    return 'unknown';
  end if;

  v_moves := case
    when v_known.state in ('canceled', 'incomplete_expired') then false
    -- Only what was not paid can expire or fail.
    when p_state in ('expired', 'failed') and v_known.state not in ('opening', 'open', 'incomplete') then false
    -- A trial and a pause have invoices of nothing, which are paid at once.
    when p_type = 'invoice.paid' and v_known.state in ('trialing', 'paused') then false
    when v_known.state_event_at is null or p_created > v_known.state_event_at then true
    when p_created = v_known.state_event_at then
      array_position(v_life, p_state) > array_position(v_life, v_known.state)
    else false
  end;
  update subscription as s set
    state = case when v_moves then p_state else s.state end,
    state_event_at = case when v_moves then p_created else s.state_event_at end,
    session_id = coalesce(s.session_id, p_session_id),
    provider_subscription_id = coalesce(s.provider_subscription_id, p_subscription_id),
    provider_customer_id = coalesce(s.provider_customer_id, p_customer_id),
    updated_at = v_now
  where s.id = v_known.id;
  return case when v_moves then 'applied' else 'stale' end;
end
$$;

-- sql/functions/beat.sql
-- One real write that needs new space on the disk, and the figures of GET /healthz with it.
--
-- While somebody keeps the table from being trimmed (a dump that runs for hours), it grows to 16 MiB; from then on a
-- beat is a commit without a row, which proves as much but for the room.
--
-- With p_node the process says that it is there and which surfaces it serves, and is told how many processes serve each
-- of them, and the secret under which they name what they share. One that has not been seen for three seconds is gone, and so
-- is one that says that it serves none. A row that is young is left alone, so that few of its versions pile up while somebody
-- holds a transaction open.
create or replace function beat(p_slot int, p_node uuid default null, p_surfaces text[] default '{}')
returns table (pending bigint, dead bigint, nodes json, seed uuid)
language plpgsql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
begin
  perform keep_promise();
  if pg_relation_size('heartbeat') < 16 * 1024 * 1024 then
    insert into heartbeat (slot) values (p_slot);
  else
    perform pg_logical_emit_message(true, 'beat', '');
  end if;
  if p_node is not null and p_surfaces = '{}' then
    delete from limit_node as n where n.node = p_node;
  elsif p_node is not null then
    insert into limit_node as n (node, surfaces, seen_at) values (p_node, p_surfaces, v_now)
    on conflict (node) do update set surfaces = excluded.surfaces, seen_at = excluded.seen_at
    where n.seen_at < v_now - interval '0.9 seconds' or n.surfaces <> excluded.surfaces;
    -- Past the rows that others hold: after an outage all are old, and beats that clear away one another's would deadlock.
    delete from limit_node as n using (
      select g.node from limit_node as g
      where g.seen_at < v_now - interval '1 minute' and g.node <> p_node
      for update skip locked
    ) as gone
    where n.node = gone.node;
    insert into limit_seed default values on conflict do nothing;
  end if;
  return query
  select
    coalesce(sum(t.delta) filter (where t.state = 'pending'), 0)::bigint,
    coalesce(sum(t.delta) filter (where t.state = 'dead'), 0)::bigint,
    (
      select json_object_agg(s.surface, s.nodes) from (
        select u.surface, count(*) as nodes from limit_node as n cross join unnest(n.surfaces) as u (surface)
        where n.seen_at > v_now - interval '3 seconds' group by 1
      ) as s
    ),
    (select s.seed from limit_seed as s)
  from outbox_tally as t;
end
$$;

-- sql/functions/begin_checkout.sql
-- Begins a checkout of a plan at its price of this moment, or finds the one that was begun under the same
-- Idempotency-Key (p_key; null when there is none). p_request tells what was asked for under the key.
--
-- outcome: begun, or again (begun before and not known to be open: the provider is asked once more, under the same
-- id), or open, or conflict (the key was used for something else), or plan_not_found.
create or replace function begin_checkout(p_plan text, p_key uuid, p_request uuid, p_remembered_hours int)
returns table (
  outcome text, id uuid, plan_name text, amount_cents int, billing_interval text, session_id text, session_url text
)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_known subscription;
  v_plan plan;
begin
  perform keep_promise();
  -- A key is let go of when its time is over, never before the published 24 hours, and when its session can no longer be paid.
  update subscription as s set key_digest = null, request_digest = null
  where s.key_digest = p_key and (
    s.created_at <= v_now - make_interval(hours => greatest(p_remembered_hours, 24))
    or s.state in ('expired', 'failed')
    or (s.state = 'open' and s.session_expires_at <= v_now)
  );
  loop
    select s.* into v_known from subscription as s where s.key_digest = p_key;
    if found then
      return query select
        case
          when v_known.request_digest <> p_request then 'conflict'
          when v_known.session_url is null then 'again'
          else 'open'
        end,
        v_known.id, v_known.plan_name, v_known.amount_cents, v_known.billing_interval, v_known.session_id,
        v_known.session_url;
      return;
    end if;
    select p.* into v_plan from plan as p where p.slug = p_plan;
    if not found then
      return query select 'plan_not_found', null::uuid, null::text, null::int, null::text, null::text, null::text;
      return;
    end if;
    return query
      insert into subscription as s (
        plan_slug, plan_name, plan_customer, amount_cents, billing_interval, key_digest, request_digest, created_at,
        updated_at
      )
      values (
        v_plan.slug, v_plan.name, v_plan.customer, v_plan.amount_cents, v_plan.billing_interval, p_key, p_request,
        v_now, v_now
      )
      on conflict (key_digest) do nothing
      returning 'begun', s.id, s.plan_name, s.amount_cents, s.billing_interval, s.session_id, s.session_url;
    if found then
      return;
    end if;
    -- A rival with the same key was quicker, and has committed by now.
  end loop;
end
$$;

-- sql/functions/claim_outbox.sql
-- Claims rows of the outbox that are due, tenant by tenant, under a lease, and returns what is to be sent.
--
-- A row whose earlier lease has run out was lost with the process that held it: that attempt is recorded as lost
-- and stays spent; when it was the last one, the row is dead. Only a lost attempt makes one dead here: a pending row
-- that has spent more than the maximum, since somebody has lowered it, is sent once more.
--
-- Nothing is claimed of a live tenant without a route, whoever asks: sent and refused, its rows would be due again at
-- once.
--
-- A claimed event without content is not returned, whoever has removed it how: nothing is ever sent without.
--
-- p_floor: nothing of the tenant is due before it (the claimer knows from earlier claims). Without it a scan would
-- begin with every dead index entry that a long transaction elsewhere keeps from being cleaned up.
--
-- "coalesce" and no bitmaps: statistics that were taken while nearly everything was leased must not make the planner read all
-- that waits to sort it.
--
-- p_settled: what settle_outbox has returned, where one statement does both. It is there so that this is done after that.
create or replace function claim_outbox(
  p_lease uuid,
  p_lease_ms int,
  p_attempts_max int,
  p_tenant_id int[],
  p_floor text[],
  p_limit int[],
  p_settled int default 0
)
returns table (
  event_id text, tenant_id int, due_at_ms float8, number int, spent int, is_replay boolean, is_repeat boolean, kind text, tenant text,
  source text, received_at_ms float8, flags text, lead text, extra text
)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
begin
  perform keep_promise();
  return query
  with due as materialized (
    select o.*, n.slug
    from unnest(p_tenant_id, p_floor::timestamptz[], p_limit) as t (id, since, size)
    join tenant as n on n.id = t.id and (n.sandbox or n.has_route)
    cross join lateral (
      select o.ctid as place, o.event_id, o.tenant_id, o.due_at, o.lease, o.made, o.spent
      from outbox as o
      where o.tenant_id = t.id and o.due_at >= t.since and o.due_at <= v_now
        and coalesce(o.lease_until <= v_now, true)
      order by o.due_at, o.event_id
      limit t.size
      for update skip locked
    ) as o
  ),
  lost as (
    insert into attempt (event_id, number, at, outcome, spent)
    select d.event_id, d.made, v_now, 'lost', true from due as d where d.lease is not null
    on conflict do nothing
  ),
  died as (
    delete from outbox as o using due as d
    where o.event_id = d.event_id and d.lease is not null and d.spent >= p_attempts_max
    returning o.event_id, o.tenant_id, o.sent_before
  ),
  buried as (
    insert into dead_letter (event_id, tenant_id, died_at, reason, sent_before)
    select d.event_id, d.tenant_id, v_now, 'lost', d.sent_before from died as d
  ),
  counted as (
    insert into outbox_tally (state, delta)
    select c.state, c.sign * n.count
    from (select count(*) from died) as n (count), (values ('pending', -1), ('dead', 1)) as c (state, sign)
    where n.count > 0
  ),
  claimed as (
    update outbox as o
    set lease = p_lease, lease_until = v_now + make_interval(secs => p_lease_ms / 1000.0),
      made = o.made + 1, spent = o.spent + 1
    from due as d
    where o.ctid = d.place and (d.lease is null or d.spent < p_attempts_max)
    returning o.event_id, o.tenant_id, d.due_at, o.made, o.spent, o.is_replay, d.slug
  )
  select
    c.event_id, c.tenant_id, date_part('epoch', c.due_at) * 1000, c.made, c.spent, c.is_replay,
    c.is_replay and exists (select from attempt as a where a.event_id = c.event_id and a.outcome = 'delivered'), e.kind, c.slug, k.label,
    date_part('epoch', e.received_at) * 1000, array_to_string(e.flags, ','),
    e.lead::text, e.extra
  -- Sorted before the content is there, which would be copied for it.
  from (select * from claimed as c order by c.due_at, c.event_id offset 0) as c
  join event as e on e.event_id = c.event_id and e.lead is not null
  join api_key as k on k.id = e.key_id
  order by c.due_at, c.event_id;
end
$$;

-- sql/functions/compact_campaign_charge.sql
-- Folds the charges of each campaign into one row. Rows that another node is folding are left to it.
create or replace function compact_campaign_charge() returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  with folded as (
    delete from campaign_charge
    where ctid in (select ctid from campaign_charge for update skip locked)
    returning campaign_id, cents
  )
  insert into campaign_charge (campaign_id, cents)
  select campaign_id, sum(cents) from folded group by campaign_id;
$$;

-- sql/functions/compact_outbox_tally.sql
-- Folds the changes of outbox_tally into one row a state. Rows that another node is folding are left to it.
create or replace function compact_outbox_tally() returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  with folded as (
    delete from outbox_tally
    where ctid in (select ctid from outbox_tally for update skip locked)
    returning state, delta
  )
  insert into outbox_tally (state, delta)
  select state, sum(delta) from folded group by state;
$$;

-- sql/functions/compact_unknown_area.sql
-- Folds the sightings of each tenant's term into one row. Rows that another node is folding are left to it; a term that
-- nobody is left to have used (forget_unknown_area) goes.
create or replace function compact_unknown_area() returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  with folded as (
    delete from unknown_area_seen
    where ctid in (select ctid from unknown_area_seen for update skip locked)
    returning *
  )
  insert into unknown_area_seen (tenant_id, term, count, first_at, last_at)
  select tenant_id, term, sum(count), min(first_at), max(last_at) from folded group by tenant_id, term
  having sum(count) > 0;
$$;

-- sql/functions/console_confirm_area.sql
-- Takes a term that callers use into the vocabulary, or ratifies a proposed one, and notes it in the audit.
--
-- The vocabulary belongs to the operator: the service's role may not write it. This function runs with its owner's
-- rights and can do no more than that: no term that nobody has sent comes in, none changes its spelling, none is
-- retired, and what is confirmed stays confirmed.
--
-- p_known: the term of the vocabulary that the caller takes p_area for (it folds as the validator does, lower() may
-- know ASCII only), or null when there is none. p_claimed: the address that it was asked from.
create or replace function console_confirm_area(p_area text, p_status text, p_known text, p_claimed text) returns text
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
  v_area text := coalesce(p_known, p_area);
  v_before text;
begin
  if p_status is null or p_status not in ('confirmed', 'proposed') then
    raise exception 'the status is neither confirmed nor proposed' using errcode = 'check_violation';
  end if;
  select a.status into v_before from area as a where a.area = v_area for update;
  if not found then
    if p_known is not null then
      return 'changed_meanwhile';
    end if;
    -- What was sent has been measured with it.
    if not exists (select from unknown_area_seen as u where u.term = p_area) then
      return 'not_found';
    end if;
    insert into area (area, status) values (p_area, p_status) on conflict do nothing;
    if not found then
      return 'changed_meanwhile';
    end if;
  elsif v_before = p_status or v_before = 'confirmed' then
    return 'unchanged';
  elsif v_before = 'retired'
    and not exists (
      select from unknown_area_seen as u
      where u.term = p_area and (lower(p_area) = lower(v_area) or v_area ~ '[^ -~]')
    )
  then
    return 'not_found';
  else
    update area set status = p_status where area = v_area;
  end if;
  perform append_audit(
    'console', p_claimed, case p_status when 'confirmed' then 'area.confirm' else 'area.propose' end,
    array[v_area], json_build_object('before', v_before)
  );
  return 'done';
end
$$;

-- sql/functions/delivery_standing.sql
-- How the delivery stands, for the figures: for how long the first delivery that is due has been due, 0 when none is,
-- and how many live tenants without a route have leads that wait for one. One look into the index for each tenant.
create or replace function delivery_standing()
returns table (overdue_seconds float8, unrouted_tenants int)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := service_clock();
begin
  return query
  select
    coalesce(max(greatest(0, extract(epoch from v_now - due.at))) filter (where t.sandbox or t.has_route), 0)::float8,
    (count(*) filter (where not (t.sandbox or t.has_route)))::int
  from tenant as t
  cross join lateral (
    select o.due_at as at from outbox as o
    where o.tenant_id = t.id and coalesce(o.lease_until <= v_now, true)
    order by o.due_at limit 1
  ) as due;
end
$$;

-- sql/functions/disable_tenant.sql
-- Disables a tenant and suspends its keys, or enables it again; both at once, so that a commit looks at the key alone
-- (accept). Suspending a key waits for its commits under way, as revoking does (wait_for_commits_of_key): when this has
-- committed, nothing of the tenant's keys commits any more. What was accepted before is delivered as ever.
--
-- The keys are of one moment: whoever issues one holds the tenant's row as well (insertKey). They are locked in order, so
-- that nobody waits in a circle; a commit waits for nobody.
--
-- Returns since when it is disabled (null: enabled), whether that was so before, and how many keys changed; no row when
-- there is no such tenant.
create or replace function disable_tenant(p_slug text, p_is_disabled boolean)
returns table (disabled_at timestamptz, is_unchanged boolean, keys int)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_id int;
  v_key int;
  v_since timestamptz;
begin
  select t.id, t.disabled_at into v_id, v_since from tenant as t where t.slug = p_slug for no key update;
  if not found then
    return;
  end if;
  keys := 0;
  is_unchanged := (v_since is not null) = p_is_disabled;
  if not is_unchanged then
    v_since := case when p_is_disabled then service_clock() end;
    update tenant as t set disabled_at = v_since where t.id = v_id;
    for v_key in
      select k.id from api_key as k where k.tenant_id = v_id and k.revoked_at is null order by k.id
    loop
      update api_key as k set suspended_at = v_since where k.id = v_key;
      keys := keys + 1;
    end loop;
    perform note_audit(
      case when p_is_disabled then 'tenant.disable' else 'tenant.enable' end, p_slug, json_build_object('keys', keys)
    );
  end if;
  disabled_at := v_since;
  return next;
end
$$;

-- sql/functions/dismiss_collision.sql
-- Notes that somebody has looked at what was kept aside and left it there: it wants nobody any more, and can still be
-- accepted. Returns what became of it: dismissed | already (settled before, or erased) | unknown.
create or replace function dismiss_collision(
  p_id bigint, p_way text default 'ctl', p_claimed text default current_setting('lead_intake.claimed', true)
) returns text
language plpgsql
as $$
declare
  v_event_id text;
begin
  update collision as c set settled_at = service_clock()
  where c.id = p_id and c.settled_at is null
  returning c.event_id into v_event_id;
  if v_event_id is null then
    return case when exists (select from collision as c where c.id = p_id) then 'already' else 'unknown' end;
  end if;
  perform append_audit(
    p_way, p_claimed, 'collision.dismiss', array[v_event_id], json_build_object('collision', p_id)
  );
  return 'dismissed';
end
$$;

-- The same from the console; p_claimed is the address that it was asked from.
create or replace function console_dismiss_collision(p_id bigint, p_claimed text) returns text
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select dismiss_collision(p_id, 'console', p_claimed) $$;

-- sql/functions/dismiss_submission.sql
-- Leaves a held submission held for good: nobody is asked about it any more. It can still be released. Notes who did it,
-- and returns what became of it: dismissed | already (by somebody, or by its release) | clean (it was never held) |
-- erased | unknown.
create or replace function dismiss_submission(
  p_event_id text, p_way text default 'ctl', p_claimed text default current_setting('lead_intake.claimed', true)
) returns text
language plpgsql
set enable_seqscan = off
set jit = off
as $$
begin
  update submission as s set dismissed_at = service_clock()
  where s.event_id = p_event_id and s.verdict <> 'clean' and s.released_at is null and s.dismissed_at is null;
  if found then
    perform append_audit(p_way, p_claimed, 'submission.dismiss', array[p_event_id], null);
    return 'dismissed';
  end if;
  return coalesce((
    select case when s.verdict = 'clean' then 'clean' when e.removed_at is not null then 'erased' else 'already' end
    from submission as s join event as e on e.event_id = s.event_id
    where s.event_id = p_event_id
  ), 'unknown');
end
$$;

-- The same from the console; p_claimed is the address that it was asked from.
create or replace function console_dismiss_submission(p_event_id text, p_claimed text) returns text
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select dismiss_submission(p_event_id, 'console', p_claimed) $$;

-- sql/functions/due_tenants.sql
-- The tenants that have something due, as the backstop of the wake-ups. A live tenant without a route is not among
-- them: its rows wait and spend nothing until it has one.
--
-- "limit 1" and not "exists", which the planner makes a hash join of that reads every row that waits.
--
-- p_floor: nothing of that tenant is due before it (see claim_outbox); the other tenants are looked at whole.
create or replace function due_tenants(p_tenant_id int[] default '{}', p_floor text[] default '{}')
returns table (tenant_id int)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := service_clock();
begin
  return query
  select t.id from tenant as t
  left join unnest(p_tenant_id, p_floor::timestamptz[]) as f (id, since) on f.id = t.id
  cross join lateral (
    select from outbox as o
    where o.tenant_id = t.id and o.due_at >= coalesce(f.since, '-infinity') and o.due_at <= v_now
      and coalesce(o.lease_until <= v_now, true)
    order by o.due_at limit 1
  ) as due
  where t.sandbox or t.has_route;
end
$$;

-- sql/functions/effects_of.sql
-- What became of an event's effects, one a recipient, for the operator: the kind; who it is for (null when the route is
-- gone, or has changed since the effect was last tried); state:
-- waiting | busy (until busy_until) | done | failed; and what the other side said last. While the event waits those are
-- told too that were not begun.
--
-- The service's role may call it, though it cannot read routes. Of them it sees what tells one recipient from another: the
-- host of a webhook, the first letter and the domain of a mailbox; never a path, a token or a secret.
create or replace function effects_of(p_event_id text)
returns table (
  effect text, target text, state text, busy_until timestamptz, status int, answer text, reason text, attempts int,
  settled_at timestamptz
)
language sql stable
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  select
    coalesce(x.effect, a.kind),
    case
      when a.changed_at > x.settled_at then null
      when a.kind = 'email' then regexp_replace(a.address, '^(.).*@', '\1…@')
      else substring(a.address from '^https://([^/?]+)')
    end,
    case
      when x.is_done then 'done'
      when x.lease_until > service_clock() then 'busy'
      when x.settled_at is not null then 'failed'
      else 'waiting'
    end,
    x.lease_until, x.status, x.answer, x.reason, coalesce(x.attempts, 0), x.settled_at
  from (
    select e.event_id, e.tenant_id, k.label, coalesce(f.form_key, '') as form_key,
      exists (select from outbox as o where o.event_id = e.event_id) as waits
    from event as e
    join api_key as k on k.id = e.key_id
    left join submission as s on s.event_id = e.event_id
    left join form as f on f.id = s.form_id
    where e.event_id = p_event_id
  ) as e
  cross join lateral (
    select coalesce(x.route_id, r.id) as id
    from (select x.route_id from actions.effect as x where x.event_id = e.event_id) as x
    full join (select r.id from actions.routes_for(e.tenant_id, e.label, e.form_key) as r where e.waits) as r
      on r.id = x.route_id
  ) as i
  left join actions.effect as x on x.event_id = e.event_id and x.route_id = i.id
  left join actions.route as a on a.tenant_id = e.tenant_id and a.id = i.id
  -- Never done, and counted so, because only other effects were to be sent again.
  where not coalesce(x.is_done and x.settled_at is null, false)
  order by 1, i.id;
$$;

-- sql/functions/erase_candidates.sql
-- The events of the next p_limit in the order of their ids whose texts match a pattern, with their texts; on the
-- first row's edge the last id looked at, on each row, and one row of nulls when nothing matches. No row: the end.
--
-- The pattern is coarse (see src/lead/person.ts): who is meant is decided by whoever calls this.
create or replace function erase_candidates(p_after text, p_limit int, p_pattern text)
returns table (
  edge text, event_id text, lead text, extra text, raw text, idempotency_key text,
  contact text   -- of a submission: who was found to have sent it
)
language plpgsql stable
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_edge text;
begin
  select max(n.event_id) into v_edge
  from (select e.event_id from event as e where e.event_id > p_after order by e.event_id limit p_limit) as n;
  if v_edge is null then
    return;
  end if;
  return query
  select v_edge, f.*
  from (select) as one
  left join (
    select e.event_id, e.lead::text, e.extra, e.raw, e.idempotency_key,
      case when s.event_id is not null then json_build_object('phone', s.phone, 'email', s.email)::text end
    from event as e
    left join submission as s on e.kind = 'form' and s.event_id = e.event_id
    where e.event_id > p_after and e.event_id <= v_edge and e.removed_at is null
      and (
        e.lead::text ~ p_pattern or e.extra ~ p_pattern or e.raw ~ p_pattern or e.idempotency_key ~ p_pattern
      )
  ) as f on true
  order by f.event_id;
end
$$;

-- The same of what was kept aside: collisions in the order of their ids.
create or replace function erase_candidate_collisions(p_after bigint, p_limit int, p_pattern text)
returns table (edge bigint, id bigint, event_id text, lead text, extra text, raw text)
language plpgsql stable
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_edge bigint;
begin
  select max(n.id) into v_edge
  from (select c.id from collision as c where c.id > p_after order by c.id limit p_limit) as n;
  if v_edge is null then
    return;
  end if;
  return query
  select v_edge, f.*
  from (select) as one
  left join (
    select c.id, c.event_id, c.lead::text, c.extra, c.raw
    from collision as c
    where c.id > p_after and c.id <= v_edge
      and (c.lead::text ~ p_pattern or c.extra ~ p_pattern or c.raw ~ p_pattern)
  ) as f on true
  order by f.id;
end
$$;

-- sql/functions/erase_event.sql
-- Erases one event: its content, what was kept aside under its Idempotency-Key, its place in the outbox and among the
-- dead letters, what was said of its attempts. What is counted stays: the event's row with its time, key, flags and
-- cost, the attempts' rows, the collisions' counts.
--
-- One event a call, and so a transaction: locks are held for milliseconds, and never of two events, so that no order
-- among events can deadlock with the batches of accept, settle_outbox and the rest. For one event the order is:
-- event, submission, attempts, outbox and dead letter, collisions, effects.
--
-- Returns one row. outcome: erased | gone (no such event, or its content went before) | changed (a collision has come
-- that is not among p_seen; nothing was done). state: what the delivery was at.
--
-- A send under way is not called back: it may still arrive downstream once. Its settlement finds no row and changes
-- nothing but the attempt that it records.
create or replace function erase_event(
  p_event_id text,
  p_seen bigint[],   -- the event's collisions that the caller has judged; null: all of them go
  p_kept bigint[]    -- those that are another person's
)
returns table (outcome text, state text, collisions int)
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_event event;
  v_state text := 'delivered';
  v_found text;
  v_pending int := 0;
  v_dead int := 0;
  v_collisions int;
begin
  -- Not "for update": commits that keep another lead aside under this event's key share its row.
  select e.* into v_event from event as e
  where e.event_id = p_event_id and e.removed_at is null
  for no key update;
  if not found then
    -- What an erasure of the event has kept as another person's goes, when all of it is to go.
    v_collisions := remove_collisions(array(
      select c.id from collision as c
      where p_seen is null and c.event_id = p_event_id and c.content_digest is not null
      order by c.content_digest for no key update
    ));
    return query select 'gone', null::text, v_collisions;
    return;
  end if;
  if p_seen is not null
    and exists (
      select from collision as c
      where c.event_id = p_event_id and c.content_digest is not null and c.id <> all (p_seen)
    ) then
    return query select 'changed', null::text, 0;
    return;
  end if;

  update submission as s set phone = null, email = null, last_name = null
  where s.event_id = p_event_id
  returning case when s.verdict <> 'clean' and s.released_at is null then 'held' end into v_found;
  v_state := coalesce(v_found, v_state);

  update attempt as a set reason = null
  from (
    select a.number from attempt as a
    where a.event_id = p_event_id and a.reason is not null
    order by a.number for no key update
  ) as said
  where a.event_id = p_event_id and a.number = said.number;

  -- A settlement or a replay may move it from one to the other meanwhile; whoever looks at one moment finds it in
  -- one of them.
  loop
    delete from outbox as o where o.event_id = p_event_id
    returning case when o.lease_until > service_clock() then 'sending' else 'pending' end
    into v_found;
    if found then
      v_state := v_found;
      v_pending := v_pending + 1;
    end if;
    delete from dead_letter as d where d.event_id = p_event_id;
    if found then
      v_state := 'dead';
      v_dead := v_dead + 1;
    end if;
    exit when not exists (select from outbox as o where o.event_id = p_event_id)
      and not exists (select from dead_letter as d where d.event_id = p_event_id);
  end loop;
  -- Those of a settlement that was under way: the row that it took has been waited for.
  update attempt as a set reason = null where a.event_id = p_event_id and a.reason is not null;
  insert into outbox_tally (state, delta)
  select t.state, -t.count from (values ('pending', v_pending), ('dead', v_dead)) as t (state, count)
  where t.count > 0;

  v_collisions := remove_collisions(array(
    select c.id from collision as c
    where c.event_id = p_event_id and c.id <> all (coalesce(p_kept, '{}')) and c.content_digest is not null
    order by c.content_digest for no key update
  ));
  -- What it was accepted from has its digest.
  perform remove_collisions(array(select c.id from collision as c where c.accepted_event_id = p_event_id));

  if v_event.kind = 'lead' and 'project_area_unknown' = any (v_event.flags) then
    perform forget_unknown_area(v_event.tenant_id, v_event.lead ->> 'project_area');
  end if;

  perform remove_content(array[p_event_id], 'erasure');

  return query select 'erased', v_state, v_collisions;
end
$$;

-- Erases what was kept aside and leaves the event, which is another person's; false: its content went before.
create or replace function erase_collision(p_id bigint) returns boolean
language plpgsql
as $$
begin
  return remove_collisions(array(
    select c.id from collision as c where c.id = p_id and c.content_digest is not null for no key update
  )) > 0;
end
$$;

-- sql/functions/event_id.sql
-- The id of an event, 38 hex digits that sort by the time of acceptance: the microseconds since 1970 (14), the place in
-- its batch (4), and chance (20, which are 80 bits). What it is made of is known here and in src/contract/event_id.ts.

-- How the ids begin of the events that are accepted at a time: they and all later ones come after it.
create or replace function event_id_at(p_at timestamptz) returns text
language sql stable parallel safe
as $$ select lpad(to_hex((extract(epoch from p_at) * 1000000)::bigint), 14, '0') collate "C" $$;

-- An id that begins like p_at (event_id_at), for the event at a place of its batch, counted from 1.
create or replace function new_event_id(p_at text, p_place bigint) returns text
language sql volatile parallel safe
-- The digits of the UUID that say what kind of UUID it is are left out.
as $$ select p_at || lpad(to_hex(p_place), 4, '0') || overlay(gen_random_uuid()::text placing '' from 9 for 16) $$;

-- When an event was accepted.
create or replace function event_id_time(p_event_id text) returns timestamptz
language sql immutable parallel safe
as $$ select to_timestamp(('x' || lpad(left(p_event_id, 14), 16, '0'))::bit(64)::bigint / 1000000.0) $$;

-- Its place in its batch.
create or replace function event_id_place(p_event_id text) returns int
language sql immutable parallel safe
as $$ select ('x' || substr(p_event_id, 15, 4))::bit(16)::int $$;

-- sql/functions/expire_content.sql
-- Removes content that is older than its tenant keeps it: a bounded part of what there is, a transaction a call.
--
-- Never of an event that is pending, being sent or dead: it is remembered (retention_left) and looked at again an hour
-- later. A held submission goes, and cannot be released any more.
--
-- Returns how many events it has looked at, p_limit at most, and how many of them it has removed the content of. Less
-- looked at than p_limit: there is no more for now. null: another process is at it.
--
-- The events of a key come in the order of their ids, which is that of their acceptance (event_key).
create or replace function expire_content(p_limit int) returns table (examined int, removed int)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
-- A key's events along its index, and never all that are due to sort them.
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_examined int := 0;
  v_removed int := 0;
  v_ids text[];
  v_due text[];
  v_gone text[];
  v_key record;
begin
  if not pg_try_advisory_xact_lock(2, 0) then
    return query select null::int, null::int;
    return;
  end if;

  -- Half of the work at most, so that many dead letters hold nothing up.
  select coalesce(array_agg(l.event_id), '{}'), coalesce(array_agg(l.event_id) filter (where l.is_due), '{}')
  into v_ids, v_due
  from (
    select l.event_id, l.event_id < event_id_at(v_now - make_interval(days => t.retention_days)) as is_due
    from retention_left as l join tenant as t on t.id = l.tenant_id
    where l.look_at <= v_now
    order by l.look_at limit (p_limit + 1) / 2
  ) as l;
  if v_ids <> '{}' then
    v_gone := expire_events(v_due);
    v_examined := cardinality(v_ids);
    v_removed := cardinality(v_gone);
    delete from retention_left as l
    where l.event_id = any (v_ids)
      and exists (select from event as e where e.event_id = l.event_id and e.removed_at is not null);
    update retention_left as l set look_at = v_now + interval '1 hour' where l.event_id = any (v_ids);
  end if;

  for v_key in
    select k.id, t.id as tenant_id, event_id_at(v_now - make_interval(days => t.retention_days)) as until_id,
      coalesce(c.after_id, '') as after_id
    from tenant as t
    join api_key as k on k.tenant_id = t.id
    left join retention_cursor as c on c.key_id = k.id
    where t.retention_days is not null
    order by c.looked_at nulls first, k.id
  loop
    exit when v_examined >= p_limit;
    select array_agg(n.event_id order by n.event_id) into v_ids
    from (
      -- As rows, or the planner may walk all events to find those of a key that has few.
      select e.event_id from event as e
      where (e.key_id, e.event_id) > (v_key.id, v_key.after_id) and (e.key_id, e.event_id) < (v_key.id, v_key.until_id)
      order by e.key_id, e.event_id limit p_limit - v_examined
    ) as n;
    continue when v_ids is null;

    v_gone := expire_events(v_ids);
    v_examined := v_examined + cardinality(v_ids);
    v_removed := v_removed + cardinality(v_gone);
    insert into retention_left (event_id, tenant_id, look_at)
    select e.event_id, e.tenant_id, v_now + interval '1 hour'
    from event as e where e.event_id = any (v_ids) and e.removed_at is null
    on conflict do nothing;
    insert into retention_cursor (key_id, after_id, looked_at)
    values (v_key.id, v_ids[cardinality(v_ids)], v_now)
    on conflict (key_id) do update set after_id = excluded.after_id, looked_at = excluded.looked_at;
  end loop;

  -- The terms that only such leads used; one scan of a small table, and not while there is other work.
  if v_examined < p_limit then
    delete from unknown_area_seen as u using tenant as t
    where t.id = u.tenant_id and u.last_at < v_now - make_interval(days => t.retention_days);
  end if;
  return query select v_examined, v_removed;
end
$$;

-- Removes the content of those of the events that may go and that nobody else is at, and returns their ids.
create or replace function expire_events(p_event_id text[]) returns text[]
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_gone text[];
begin
  -- What an erasure kept aside as another person's, under an event that is gone already.
  perform remove_collisions(array(
    select c.id from collision as c join event as e on e.event_id = c.event_id
    where c.event_id = any (p_event_id) and c.content_digest is not null and e.removed_at is not null
    order by c.event_id, c.content_digest for no key update of c
  ));
  -- Locked before the outbox is looked at: a held submission is released under the same lock. Skipped and not waited
  -- for: accept locks events in another order.
  v_gone := array(
    select e.event_id from event as e
    where e.event_id = any (p_event_id) and e.removed_at is null
    order by e.event_id for no key update skip locked
  );
  -- One statement for both: what moves from one to the other meanwhile is in one of them.
  v_gone := array(
    select g.event_id from unnest(v_gone) as g (event_id)
    where not exists (select from outbox as o where o.event_id = g.event_id collate "C")
      and not exists (select from dead_letter as d where d.event_id = g.event_id collate "C")
  );
  if v_gone = '{}' then
    return v_gone;
  end if;

  update submission as s set phone = null, email = null, last_name = null where s.event_id = any (v_gone);
  update attempt as a set reason = null where a.event_id = any (v_gone) and a.reason is not null;
  -- In the order in which accept locks them.
  perform remove_collisions(array(
    select c.id from collision as c
    where (c.event_id = any (v_gone) or c.accepted_event_id = any (v_gone)) and c.content_digest is not null
    order by c.event_id, c.content_digest for no key update
  ));
  perform remove_content(v_gone, 'retention');
  return v_gone;
end
$$;

-- sql/functions/fill_lead_contact.sql
-- Takes up to p_limit batches from lead_contact_todo and files whom their leads name: in one transaction, so that whoever
-- searches finds each event here or there. Returns how many it took; null: another process is at it.
--
-- remove_content takes the same lock, before it looks: what it removes is not filed again from what was read before.
create or replace function fill_lead_contact(p_limit int) returns int
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_starts text[];
begin
  if not pg_try_advisory_xact_lock(4, 0) then
    return null;
  end if;
  with taken as (
    delete from lead_contact_todo as t
    where t.ctid = any (array(select o.ctid from lead_contact_todo as o limit p_limit))
    returning t.id_start
  )
  select coalesce(array_agg(t.id_start), '{}') into v_starts from taken as t;

  -- Of two batches that begin alike one may have been committed, and filed, before the other. Batch by batch along the
  -- index, here and below: joined as it pleases the planner, all rows are looked at for each batch.
  delete from lead_contact as c
  where c.event_id = any (array(
    select f.event_id
    from unnest(v_starts) as s (id_start)
    cross join lateral (
      select f.event_id from lead_contact as f
      where f.event_id >= s.id_start collate "C" and f.event_id < s.id_start || 'g' collate "C"
      offset 0
    ) as f
  ));

  insert into lead_contact (event_id, phone, email, last_name)
  select e.event_id, l.phone, l.email, lower(l.last_name collate "C")
  from (select distinct s.id_start from unnest(v_starts) as s (id_start)) as s
  cross join lateral (
    select e.event_id, e.lead from event as e
    where e.event_id >= s.id_start collate "C" and e.event_id < s.id_start || 'g' collate "C"
      and e.kind = 'lead' and e.lead is not null
    offset 0
  ) as e
  cross join lateral json_to_record(e.lead) as l (phone text, email text, last_name text)
  order by e.event_id;
  return cardinality(v_starts);
end
$$;

-- sql/functions/forget_checkouts.sql
-- Lets go of what checkouts no longer need: keys after their time, addresses of sessions that are over, checkouts that
-- were never paid, and the ids of events that the provider no longer sends again (it tries for days; a person can have
-- one sent again for 30 days).
--
-- Nothing goes before the published times, whatever the service asks for.
create or replace function forget_checkouts(p_remembered_hours int, p_unpaid_days int)
returns void
language sql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  update subscription set key_digest = null, request_digest = null
  where key_digest is not null and created_at <= service_clock() - make_interval(hours => greatest(p_remembered_hours, 24));

  update subscription set session_url = null
  where session_url is not null and session_expires_at <= service_clock() - interval '1 hour';

  delete from subscription
  where state in ('opening', 'open', 'expired', 'failed')
    and created_at <= service_clock() - make_interval(days => greatest(p_unpaid_days, 40));

  delete from provider_event where received_at <= service_clock() - make_interval(days => greatest(p_unpaid_days, 40));
$$;

-- sql/functions/forget_limits.sql
-- Forgets what is left of all limits when the tables are full of old versions, and says whether they can be worked on.
--
-- Rows change several times a second, and a transaction that is held open anywhere keeps all that they were: a statement
-- would take longer and longer. By TRUNCATE, which asks nobody what he has seen; the nodes tell what they know. When somebody
-- is reading the tables (a dump), nothing is forgotten, and each node has an equal share until that ends.
--
-- Chosen: more than four old versions to a row, from half a MiB on, which all that is there takes when nobody holds any; and
-- 16 MiB, should the statistics be wrong.
create or replace function forget_limits() returns boolean
language plpgsql
set lock_timeout = '10ms'
as $$
declare
  v_lease oid := 'limit_lease'::regclass;
  v_bucket oid := 'limit_bucket'::regclass;
  v_bytes bigint := pg_relation_size(v_lease) + pg_relation_size(v_bucket);
begin
  if v_bytes < 512 * 1024 then
    return true;
  end if;
  if v_bytes > 16 * 1024 * 1024
    or pg_stat_get_dead_tuples(v_lease) + pg_stat_get_dead_tuples(v_bucket)
      > 4 * (pg_stat_get_live_tuples(v_lease) + pg_stat_get_live_tuples(v_bucket))
  then
    truncate limit_bucket, limit_lease;
  end if;
  return true;
exception when lock_not_available then
  return false;
end
$$;

-- sql/functions/forget_unknown_area.sql
-- Counts an unknown term once less; the last lead that used it takes the term with it.
--
-- The rows are folded here and now, because a correction beside them would still name the term. A fold under way
-- elsewhere (compact_unknown_area) is waited for, and what it has written is found in the next turn: a turn that has
-- waited for it finds nothing itself.
create or replace function forget_unknown_area(p_tenant_id int, p_term text) returns void
language plpgsql
as $$
declare
  v_count bigint := -1;
  v_first_at timestamptz;
  v_last_at timestamptz;
  v_folded record;
begin
  loop
    with folded as (
      delete from unknown_area_seen as u where u.tenant_id = p_tenant_id and u.term = p_term returning u.*
    )
    select sum(f.count) as count, min(f.first_at) as first_at, max(f.last_at) as last_at into v_folded
    from folded as f;
    v_count := v_count + coalesce(v_folded.count, 0);
    v_first_at := least(v_first_at, v_folded.first_at);
    v_last_at := greatest(v_last_at, v_folded.last_at);
    exit when not exists (
      select from unknown_area_seen as u where u.tenant_id = p_tenant_id and u.term = p_term
    );
  end loop;
  if v_count > 0 then
    insert into unknown_area_seen (tenant_id, term, count, first_at, last_at)
    values (p_tenant_id, p_term, v_count, v_first_at, v_last_at);
  end if;
end
$$;

-- sql/functions/hold_events.sql
-- Puts events that wait aside as dead letters with the reason may_repeat, so that nothing of them is sent before an
-- operator has decided (ctl restored): ctl dead replay delivers, ctl dead done says that the customer has it. Notes who
-- did it; returns those that waited.
--
-- To be called while nothing delivers: what is being sent would settle it meanwhile.
create or replace function hold_events(p_event_id text[]) returns table (event_id text)
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_held text[];
begin
  with gone as (
    delete from outbox as o where o.event_id = any (p_event_id)
    returning o.event_id, o.tenant_id, o.sent_before, o.lease, o.made
  ),
  -- As a claim does with a lease that has run out: the attempt that was under way has a row.
  lost as (
    insert into attempt (event_id, number, at, outcome, spent)
    select g.event_id, g.made, service_clock(), 'lost', true from gone as g where g.lease is not null
    on conflict do nothing
  ),
  buried as (
    insert into dead_letter (event_id, tenant_id, died_at, reason, sent_before)
    select g.event_id, g.tenant_id, service_clock(), 'may_repeat', g.sent_before from gone as g
  )
  select coalesce(array_agg(g.event_id order by g.event_id), '{}') into v_held from gone as g;

  if v_held <> '{}' then
    insert into outbox_tally (state, delta)
    values ('pending', -cardinality(v_held)), ('dead', cardinality(v_held));
    perform append_audit('ctl', current_setting('lead_intake.claimed', true), 'event.hold', v_held, null);
  end if;
  return query select unnest(v_held);
end
$$;

-- sql/functions/hour_figures.sql
-- What the report says of the events accepted in a span, by hour and key. Times to delivery are counted by bucket:
-- number n holds what is longer than 0.001 s × 1.05^(n-1) and at most 0.001 s × 1.05^n.
create or replace function hour_figures(p_from timestamptz, p_to timestamptz)
returns table (hour timestamptz, key_id int, accepted int, spend_cents bigint, flags json, seconds json)
language sql stable
as $$
  with e as materialized (
    select
      date_trunc('hour', e.received_at, 'UTC') as hour, e.key_id, e.event_id, e.received_at, e.flags,
      -- As long as the lead is there, it has the cost.
      coalesce(e.cost_cents, case when e.kind = 'lead' then (e.lead ->> 'cost_cents')::int end) as cost_cents
    from event as e
    where e.event_id >= event_id_at(p_from) and e.event_id < event_id_at(p_to)
  ),
  -- Grouped, never joined: for an hour that has just begun the planner expects one row, and would go through all keys
  -- again for each key.
  parts as (
    select e.hour, e.key_id, count(*) as accepted, coalesce(sum(e.cost_cents), 0) as spend_cents,
      null as kind, null as name, null::bigint as count
    from e group by 1, 2
    union all
    select e.hour, e.key_id, 0, 0, 'flag', u.flag, count(*)
    from e cross join lateral unnest(e.flags) as u (flag)
    group by 1, 2, u.flag
    union all
    select e.hour, e.key_id, 0, 0, 'seconds', b.bucket, count(*)
    from e
    cross join lateral (
      select greatest(0, ceil(ln(greatest(d.seconds, 0.001) / 0.001) / ln(1.05)))::int::text as bucket
      from (
        select
          extract(epoch from a.at - e.received_at)::float8 + coalesce(a.duration_ms, 0) / 1000.0 as seconds
        from attempt as a
        where a.event_id = e.event_id and a.outcome = 'delivered'
        order by a.number limit 1
      ) as d
    ) as b
    group by 1, 2, b.bucket
  )
  select p.hour, p.key_id, sum(p.accepted)::int, sum(p.spend_cents)::bigint,
    coalesce(json_object_agg(p.name, p.count) filter (where p.kind = 'flag'), '{}'),
    coalesce(json_object_agg(p.name, p.count) filter (where p.kind = 'seconds'), '{}')
  from parts as p
  group by p.hour, p.key_id;
$$;

-- sql/functions/keep_promise.sql
-- What an answer of ours rests on, whatever became of the settings of the session: a pooler gives out sessions that nobody
-- of ours has set up, and a role or a database may have settings of its own.
--
-- The commit of this transaction waits for the disk, and for the synchronous standby where there is one. It is set for the
-- transaction: what a function sets for itself (create function … set) is undone before the commit.
create or replace function keep_promise() returns void
language plpgsql
as $$
begin
  if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end
$$;

-- sql/functions/lay_tombstone.sql
-- Lays the tombstones of an erasure, or moves those that it has laid: from now on, and for p_lease_ms, whatever has one of
-- the contacts (src/lead/contacts.ts) is erased as it is accepted. Called again while the erasure goes on, and at its end
-- with a lease of 0: then it is what arrived until that moment. An erasure that is cut short lets go when its lease ends.
--
-- By the real clock, not the service's: it is compared with how long ago a post arrived. Returns the moment.
create or replace function lay_tombstone(p_run uuid, p_contact text[], p_lease_ms int, p_alive_ms int)
returns timestamptz
language plpgsql
as $$
declare
  v_until timestamptz := clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0);
begin
  insert into tombstone as t (run, digest, posted_until, expires_at)
  select distinct p_run, tombstone_digest(c.contact), v_until, v_until + make_interval(secs => p_alive_ms / 1000.0)
  from unnest(p_contact) as c (contact)
  on conflict (digest, run) do update set posted_until = excluded.posted_until, expires_at = excluded.expires_at;
  return v_until;
end
$$;

-- HMAC-SHA-256 under the database's key.
create or replace function tombstone_digest(p_contact text) returns bytea
language sql stable
as $$
  select sha256(k.outer_pad || sha256(k.inner_pad || convert_to(p_contact, 'UTF8'))) from tombstone_key as k;
$$;

-- Waits for the batches of accept that are under way: those that began before a tombstone was committed have not looked
-- at it. Each holds the locks of its keys (accept), which pg_locks shows; nobody waits for this one in turn. A batch is
-- given up after 9 s: who holds such a lock for longer is none.
create or replace function wait_for_batches() returns void
language plpgsql
as $$
declare
  v_under_way text[];
  v_until timestamptz := clock_timestamp() + interval '12 seconds';
begin
  loop
    select array_agg(l.virtualtransaction) into v_under_way
    from pg_locks as l
    where l.locktype = 'advisory' and l.classid = 1 and l.mode = 'ShareLock' and l.granted
      and l.database = (select d.oid from pg_database as d where d.datname = current_database())
      and (v_under_way is null or l.virtualtransaction = any (v_under_way));
    exit when v_under_way is null or clock_timestamp() > v_until;
    perform pg_sleep(0.005);
  end loop;
end
$$;

-- Takes away the tombstones whose time is over; they would be looked at with every batch.
create or replace function forget_tombstones() returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ delete from tombstone where expires_at < clock_timestamp() $$;

-- sql/functions/lease_limits.sql
-- A node tells what it has spent of the keys it leases, and gets what it may spend until it asks again. See
-- src/limiter/lease.ts, whose constants of time these are: a grant counts for a second.
--
-- The bucket's row is the lock of its leases, and the rows are taken in the order of their hashes. What a node tells are
-- sums, so that a call whose answer was lost is told again and counted once. `confirmed` is what a call has answered for.
--
-- Of what is left, half is shared equally by the nodes that lease the key and half by their demand, less what the others
-- hold at this moment. A node that would get nothing has `unleased` tokens all the same while there are as many for each
-- node. What nobody holds stays in the bucket.
--
-- The bucket earns up to its burst; what it earns beyond that is spilled. A node that could not tell for more than a second
-- has taken an equal share meanwhile. What it tells then is paid from what was spilled since it last told, so that it is
-- owed only as far as it would be had it been told in time, whoever of several comes first. p_cut_off says that it was so,
-- because one that was not used is not asked for either.
--
-- p_owed is what the node believes is owed without the tokens it tells of. It counts when the row was lost.
--
-- It answers nothing while the tables are too large, which only a transaction that is held open for long makes them.
--
-- p_told_ms: tells the keys besides that other nodes lease and that were told within this time; null tells none, and
-- clears nothing away.
create or replace function lease_limits(
  p_node uuid, p_hash bigint[], p_per_minute float8[], p_burst float8[], p_nodes int[], p_unleased float8[],
  p_spent float8[], p_confirmed float8[], p_owed float8[], p_wanted float8[], p_cut_off boolean[], p_told_ms float8
) returns table (hash bigint, held float8, remaining float8)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set synchronous_commit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz;
begin
  if not forget_limits() then
    return;
  end if;
  insert into limit_bucket (hash, owed, at, told_at)
  select a.hash, a.owed, service_clock(), service_clock() from unnest(p_hash, p_owed) as a (hash, owed) order by 1
  on conflict do nothing;
  perform from limit_bucket as b where b.hash = any(p_hash) order by b.hash for update;
  v_now := service_clock();

  return query
  with ask as (
    select * from
      unnest(p_hash, p_per_minute, p_burst, p_nodes, p_unleased, p_spent, p_confirmed, p_wanted, p_cut_off)
      as a (hash, per_minute, burst, nodes, unleased, spent, confirmed, wanted, cut_off)
  ),
  leased as (
    select a.*, b.owed, b.spilled, own.spilled as spilled_before,
      greatest(0, extract(epoch from v_now - b.at)::float8) as elapsed,
      a.cut_off and own.at < v_now - interval '1 second' as was_cut_off,
      own.at is null or own.at < v_now - interval '1 second' as is_news,
      greatest(0, a.spent - greatest(coalesce(own.spent, 0), a.confirmed)) as told,
      a.wanted + coalesce(own.demand * fading(v_now - own.at), 0) as demand,
      o.nodes as other_nodes, o.held as others_held, o.demand as others_demand
    from ask as a
    join limit_bucket as b on b.hash = a.hash
    left join limit_lease as own on own.hash = a.hash and own.node = p_node
    cross join lateral (
      select count(*) as nodes, coalesce(sum(l.held), 0) as held,
        coalesce(sum(l.demand * fading(v_now - l.at)), 0) as demand
      from limit_lease as l
      where l.hash = a.hash and l.node <> p_node and l.at > v_now - interval '1 second'
    ) as o
  ),
  earned as (
    select l.*, l.elapsed * l.per_minute / 60 as earned from leased as l
  ),
  spilling as (
    select e.*, e.spilled + greatest(0, e.earned - e.owed) as spills from earned as e
  ),
  paid as (
    select s.*,
      case when s.was_cut_off then least(s.told, greatest(0, s.spills - s.spilled_before)) else 0 end as pays
    from spilling as s
  ),
  reckoned as (
    select p.*, greatest(0, p.owed - p.earned) + p.told - p.pays as owes from paid as p
  ),
  part as (
    select r.*, r.burst - r.owes as remains,
      (r.burst - r.owes) * (
        0.5 / (r.other_nodes + 1)
        + 0.5 * coalesce(r.demand / nullif(r.demand + r.others_demand, 0), 1.0 / (r.other_nodes + 1))
      ) as fair,
      r.burst - r.owes - r.others_held as free
    from reckoned as r
  ),
  granted as (
    select p.*, greatest(
      0,
      floor(least(p.fair, p.free)),
      -- A token that is there is not left lying because it cannot be divided.
      case when p.wanted > 0 and p.free >= 1 then 1 else 0 end,
      least(p.unleased, floor(p.remains / p.nodes))
    ) as grants
    from part as p
  ),
  bucket as (
    update limit_bucket as b
    set owed = g.owes, spilled = g.spills - g.pays, at = v_now,
      told_at = case
        when b.told_at < v_now - case when g.is_news then interval '0.5 seconds' else interval '5 seconds' end then v_now
        else b.told_at
      end
    from granted as g
    where b.hash = g.hash
  ),
  lease as (
    insert into limit_lease as l (hash, node, spent, held, spilled, demand, at)
    select g.hash, p_node, g.spent, g.grants, g.spills - g.pays, g.demand, v_now from granted as g
    on conflict (hash, node) do update
    set spent = greatest(l.spent, excluded.spent), held = excluded.held, spilled = excluded.spilled,
      demand = excluded.demand, at = excluded.at
  )
  select g.hash, g.grants, g.remains from granted as g;

  if p_told_ms is null then
    return;
  end if;
  return query
  select b.hash, null::float8, null::float8 from limit_bucket as b
  where b.told_at > v_now - p_told_ms * interval '1 millisecond'
    and exists (
      select from limit_lease as l
      where l.hash = b.hash and l.node <> p_node and l.at > v_now - interval '10 seconds'
    )
  order by b.told_at desc
  limit 2000;
  -- What another call holds is in use.
  with idle as (
    select b.hash from limit_bucket as b
    where b.at < v_now - interval '3 minutes'
    order by b.hash limit 1000 for update skip locked
  ),
  gone as (
    delete from limit_lease as l using idle as i where l.hash = i.hash
  )
  delete from limit_bucket as b using idle as i where b.hash = i.hash;
  delete from limit_lease as l where l.at < v_now - interval '3 minutes' and l.node = p_node;
end
$$;

-- What a demand from so long ago still counts for.
create or replace function fading(p_age interval) returns float8
language sql immutable parallel safe
as $$ select exp(-greatest(0, extract(epoch from p_age)::float8) / 15) $$;

-- sql/functions/mark_effects_done.sql
-- Notes effects as done that this database does not know of: what was done after the moment that it was restored to, as
-- the actions process's log tells (ctl restored), or as an operator says. Whoever delivers the event then leaves them out.
--
-- p_event_id and p_effect are pairs: an event and the kind of an effect, null for all kinds that its routes have. Returns
-- the events of which something was noted.
create or replace function mark_effects_done(p_event_id text[], p_effect text[]) returns table (event_id text)
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  with done as (
    insert into actions.effect as f (event_id, route_id, effect, attempts, is_done, settled_at)
    select distinct on (e.event_id, r.id) e.event_id, r.id, r.kind, 0, true, service_clock()
    from unnest(p_event_id, p_effect) as p (event_id, effect)
    join event as e on e.event_id = p.event_id collate "C"
    join api_key as k on k.id = e.key_id
    left join submission as s on s.event_id = e.event_id
    left join form as o on o.id = s.form_id
    cross join lateral actions.routes_for(e.tenant_id, k.label, coalesce(o.form_key, '')) as r
    where r.kind = coalesce(p.effect, r.kind)
    order by e.event_id, r.id
    on conflict (event_id, route_id) do update
      set is_done = true, lease = null, lease_until = null, settled_at = excluded.settled_at, reason = null
      where not f.is_done
    returning f.event_id
  )
  select distinct d.event_id from done as d order by 1;
end
$$;

-- Says of dead letters that the customer has them: all their effects are done. They are delivered the usual way, which
-- finds nothing to do. Notes who said so; returns those that were dead.
create or replace function settle_dead_as_done(p_event_id text[]) returns table (event_id text)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_dead text[] := array(
    select d.event_id from dead_letter as d where d.event_id = any (p_event_id) order by d.event_id for update
  );
begin
  if v_dead <> '{}' then
    perform mark_effects_done(v_dead, array_fill(null::text, array[cardinality(v_dead)]));
    perform replay_dead(v_dead);
    perform append_audit('ctl', current_setting('lead_intake.claimed', true), 'dead.done', v_dead, null);
  end if;
  return query select unnest(v_dead);
end
$$;

-- sql/functions/note_audit.sql
-- Notes what an operator did with the command, in the transaction that does it. What the console does is noted by the
-- functions console_…, which alone the service's role may call.
create or replace function note_audit(p_action text, p_subject text, p_detail json default null) returns void
language sql volatile
as $$
  select append_audit('ctl', current_setting('lead_intake.claimed', true), p_action, array[p_subject], p_detail);
$$;

-- sql/functions/open_checkout.sql
-- Notes that the provider has opened a session for a checkout. An event of it may have been quicker.
create or replace function open_checkout(p_id uuid, p_session_id text, p_session_url text, p_expires_at timestamptz)
returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  update subscription set
    state = case when state = 'opening' then 'open' else state end,
    session_id = p_session_id, session_url = p_session_url, session_expires_at = p_expires_at,
    updated_at = service_clock()
  where id = p_id;
$$;

-- Notes that no session comes of a checkout: the same Idempotency-Key begins anew.
create or replace function fail_checkout(p_id uuid) returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  update subscription set state = 'failed', updated_at = service_clock() where id = p_id and state = 'opening';
$$;

-- sql/functions/put_plans.sql
-- Adds plans or puts them in place of those of their slugs, in one transaction, and notes each change. Returns what has
-- changed; the slugs given must differ.
create or replace function put_plans(
  p_slug text[], p_name text[], p_customer text[], p_amount_cents int[], p_interval text[], p_body text[]
)
returns table (slug text, change text)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_put record;
begin
  for v_put in
    insert into plan as p (slug, name, customer, amount_cents, billing_interval, body, updated_at)
    select g.slug, g.name, g.customer, g.amount_cents, g.billing_interval, g.body::json, service_clock()
    from unnest(p_slug, p_name, p_customer, p_amount_cents, p_interval, p_body)
      as g (slug, name, customer, amount_cents, billing_interval, body)
    order by g.slug
    on conflict (slug) do update set
      name = excluded.name, customer = excluded.customer, amount_cents = excluded.amount_cents,
      billing_interval = excluded.billing_interval, body = excluded.body, updated_at = excluded.updated_at
    where p.body::text <> excluded.body::text
    -- Nobody has locked or updated a row that this statement has inserted.
    returning p.slug, case when p.xmax = 0 then 'added' else 'changed' end as change, p.amount_cents
  loop
    perform note_audit(
      'plan.put', v_put.slug,
      json_build_object('change', v_put.change, 'amount_cents', v_put.amount_cents)
    );
    slug := v_put.slug;
    change := v_put.change;
    return next;
  end loop;
end
$$;

-- sql/functions/release_submission.sql
-- Hands a held submission over to the delivery, due at once, and notes who did it. Returns what became of it:
-- released | already (somebody has released it) | clean (it was never held) | erased | unknown.
create or replace function release_submission(
  p_event_id text, p_way text default 'ctl', p_claimed text default current_setting('lead_intake.claimed', true)
) returns text
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_tenant_id int;
begin
  -- Locked, so that no erasure comes between this look at the content and the outbox row.
  perform from event as e where e.event_id = p_event_id and e.lead is not null for no key update;
  if found then
    update submission as s set released_at = service_clock()
    where s.event_id = p_event_id and s.verdict <> 'clean' and s.released_at is null
    returning s.tenant_id into v_tenant_id;
  end if;
  if v_tenant_id is null then
    return coalesce((
      select case when s.verdict = 'clean' then 'clean' when s.released_at is null then 'erased' else 'already' end
      from submission as s where s.event_id = p_event_id
    ), 'unknown');
  end if;

  insert into outbox (event_id, tenant_id, due_at, reason)
  values (p_event_id, v_tenant_id, service_clock(), 'released');
  insert into outbox_tally (state, delta) values ('pending', 1);
  perform pg_notify('outbox', '');
  perform append_audit(p_way, p_claimed, 'submission.release', array[p_event_id], null);
  return 'released';
end
$$;

-- The same from the console; p_claimed is the address that it was asked from.
create or replace function console_release_submission(p_event_id text, p_claimed text) returns text
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select release_submission(p_event_id, 'console', p_claimed) $$;

-- sql/functions/remove_content.sql
-- Takes the content out of events that the caller has locked, once nobody is filing whom leads name (fill_lead_contact). The digest of an Idempotency-Key stays, so that a late
-- retry is still a duplicate; that of a content is made of it and goes. So does what was
-- answered downstream, which may quote it.
create or replace function remove_content(p_event_id text[], p_by text) returns void
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
  perform pg_advisory_xact_lock_shared(4, 0);
  delete from lead_contact as c where c.event_id = any (p_event_id);

  update event as e
  set lead = null, extra = null, raw = null, idempotency_key = null, content_digest = null,
    dedupe_digest = case when e.dedupe_space in ('k', 'K') then e.dedupe_digest end,
    cost_cents = coalesce(e.cost_cents, case when e.kind = 'lead' then (e.lead ->> 'cost_cents')::int end),
    removed_at = service_clock(), removed_by = p_by
  where e.event_id = any (p_event_id);

  update submission as s set dismissed_at = service_clock()
  where s.event_id = any (p_event_id) and s.verdict <> 'clean' and s.released_at is null and s.dismissed_at is null;

  -- Every row of theirs, whatever stands in it: one that is being settled at this moment is waited for.
  update actions.effect as f set reason = null, status = null, answer = null where f.event_id = any (p_event_id);
end
$$;

-- The same of what was kept aside. Nobody is asked about it any more. Returns how many rows.
create or replace function remove_collisions(p_id bigint[]) returns int
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_count int;
begin
  update collision as c
  set lead = null, extra = null, raw = null, content_digest = null, phone = null, email = null, last_name = null,
    settled_at = coalesce(c.settled_at, service_clock())
  where c.id = any (p_id);
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- sql/functions/replay_dead.sql
-- Puts dead letters back to pending, due at once; returns those that were. The next refusal makes one dead again.
create or replace function replay_dead(p_event_id text[]) returns table (event_id text)
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_replayed text[];
begin
  with risen as (
    delete from dead_letter as d where d.event_id = any(p_event_id) returning d.event_id, d.tenant_id, d.sent_before
  ),
  queued as (
    insert into outbox (event_id, tenant_id, due_at, made, sent_before, is_replay, reason)
    select
      r.event_id, r.tenant_id, service_clock(),
      coalesce((select max(a.number) from attempt as a where a.event_id = r.event_id), 0), r.sent_before,
      true, 'replayed'
    from risen as r
  )
  select coalesce(array_agg(r.event_id order by r.event_id), '{}') into v_replayed from risen as r;

  if cardinality(v_replayed) > 0 then
    insert into outbox_tally (state, delta)
    values ('pending', cardinality(v_replayed)), ('dead', -cardinality(v_replayed));
    perform pg_notify('outbox', '');
  end if;
  return query select unnest(v_replayed);
end
$$;

-- sql/functions/replay_dead_as.sql
-- Puts dead letters back to pending, as replay_dead does, and notes each in the audit in the same transaction, at one
-- time, so that what was done at once is found together. Returns those that were dead.
create or replace function replay_dead_as(
  p_event_id text[], p_way text default 'ctl', p_claimed text default current_setting('lead_intake.claimed', true)
)
returns table (event_id text)
language plpgsql
as $$
declare
  v_replayed text[];
begin
  v_replayed := array(select r.event_id from replay_dead(p_event_id) as r order by r.event_id collate "C");
  if v_replayed <> '{}' then
    perform append_audit(p_way, p_claimed, 'dead.replay', v_replayed, null);
  end if;
  return query select unnest(v_replayed);
end
$$;

-- The same from the console; p_claimed is the address that it was asked from.
create or replace function console_replay_dead(p_event_id text[], p_claimed text) returns table (event_id text)
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select r.event_id from replay_dead_as(p_event_id, 'console', p_claimed) as r $$;

-- sql/functions/roll_up_hours.sql
-- Rolls up hours that are over and not rolled up yet, the newest first, and those that have changed since; at most
-- p_limit of them, and returns how many. A minute after its end no commit can add to an hour any more.
--
-- An hour of which something waits, is held or is dead is rolled up again now and then, ever more seldom as it grows
-- old: only its times to delivery change.
create or replace function roll_up_hours(p_limit int) returns int
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
  v_now timestamptz := service_clock();
  v_oldest text;
  v_hour timestamptz;
  v_from text;
  v_to text;
  v_count int := 0;
begin
  -- One process at a time; the others have nothing to wait for.
  if not pg_try_advisory_xact_lock(3, 0) then
    return 0;
  end if;
  select min(e.event_id) into v_oldest from event as e;
  if v_oldest is null then
    return 0;
  end if;
  for v_hour in
    select h.hour
    from generate_series(
      date_trunc('hour', event_id_time(v_oldest), 'UTC'),
      date_trunc('hour', v_now - interval '1 minute', 'UTC') - interval '1 hour',
      interval '1 hour'
    ) as h (hour)
    left join hour_rolled as r on r.hour = h.hour
    where r.hour is null
      or (not r.is_final and r.rolled_at < v_now - greatest(interval '5 minutes', (v_now - r.hour) / 8))
    order by r.hour is not null, h.hour desc
    limit p_limit
  loop
    v_from := event_id_at(v_hour);
    v_to := event_id_at(v_hour + interval '1 hour');
    delete from hour_total as t where t.hour = v_hour;
    insert into hour_total (hour, key_id, accepted, spend_cents, flags, seconds)
    select f.hour, f.key_id, f.accepted, f.spend_cents, f.flags, f.seconds
    from hour_figures(v_hour, v_hour + interval '1 hour') as f;
    insert into hour_rolled as r (hour, rolled_at, is_final)
    values (
      v_hour, v_now,
      not exists (select from outbox as o where o.event_id >= v_from and o.event_id < v_to)
        and not exists (select from dead_letter as d where d.event_id >= v_from and d.event_id < v_to)
        and not exists (
          -- A held one that has lost its content is never released.
          select from submission as s join event as e on e.event_id = s.event_id
          where s.event_id >= v_from and s.event_id < v_to and s.verdict <> 'clean' and s.released_at is null
            and e.removed_at is null
        )
    )
    on conflict (hour) do update set rolled_at = excluded.rolled_at, is_final = excluded.is_final;
    v_count := v_count + 1;
  end loop;
  return v_count;
end
$$;

-- sql/functions/send_again.sql
-- Has a delivered event sent once more, under the same id, by which a receiver can recognise the repeat: all its effects,
-- or those of one kind; the others stay done. It is due at once, and as with a replay the next refusal makes it dead.
-- Notes who did it. Returns what became of it: sent | waiting (it is on its way already) | already (it was sent since the
-- asker looked) | dead | held | erased | sandbox | no_route (nothing takes it) | no_effect (nothing of that kind does)
-- | unknown.
--
-- p_seen: the number of its last attempt, as the asker saw it; null sends it whatever came since. A page whose button is
-- pressed twice sends once by it, also when the first has been delivered between the two. Whoever asks twice at once is
-- told sent and waiting: the event is locked first.
create or replace function send_again(
  p_event_id text, p_effect text default null, p_seen int default null, p_way text default 'ctl',
  p_claimed text default current_setting('lead_intake.claimed', true)
) returns text
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_event event;
  v_source text;
  v_form text;
  v_routes actions.route[];
  v_made int;
begin
  -- Locked, so that no erasure comes between this look at the content and the outbox row.
  select e.* into v_event from event as e where e.event_id = p_event_id for no key update;
  if not found then
    return 'unknown';
  elsif v_event.removed_at is not null then
    return 'erased';
  elsif (select t.sandbox from tenant as t where t.id = v_event.tenant_id) then
    return 'sandbox';
  elsif exists (
    select from submission as s where s.event_id = p_event_id and s.verdict <> 'clean' and s.released_at is null
  ) then
    return 'held';
  end if;
  -- In one statement: what moves from one to the other meanwhile is in one of them.
  case (
    select case
      when exists (select from outbox as o where o.event_id = p_event_id) then 'waiting'
      when exists (select from dead_letter as d where d.event_id = p_event_id) then 'dead'
    end
  )
    when 'waiting' then return 'waiting';
    when 'dead' then return 'dead';
    else null;
  end case;
  select coalesce(max(a.number), 0) into v_made from attempt as a where a.event_id = p_event_id;
  if v_made <> p_seen then
    return 'already';
  end if;

  select k.label into v_source from api_key as k where k.id = v_event.key_id;
  select f.form_key into v_form
  from submission as s join form as f on f.id = s.form_id where s.event_id = p_event_id;
  v_routes := array(select r from actions.routes_for(v_event.tenant_id, v_source, coalesce(v_form, '')) as r);
  if v_routes = '{}' then
    return 'no_route';
  elsif p_effect is not null and not exists (select from unnest(v_routes) as r where r.kind = p_effect) then
    return 'no_effect';
  end if;

  -- What was done by a route that is gone would count as done for its kind.
  delete from actions.effect as f
  where f.event_id = p_event_id and f.effect = coalesce(p_effect, f.effect)
    and not exists (select from unnest(v_routes) as r where r.id = f.route_id);
  update actions.effect as f
  set round = f.round + 1, is_done = false, lease = null, lease_until = null,
    settled_at = null, reason = null, status = null, answer = null
  where f.event_id = p_event_id and f.effect = coalesce(p_effect, f.effect);
  -- Of the other kinds nobody new is told of it.
  insert into actions.effect (event_id, route_id, effect, attempts, is_done, settled_at)
  select p_event_id, r.id, r.kind, 0, true, null
  from unnest(v_routes) as r
  where r.kind <> p_effect
  on conflict do nothing;

  insert into outbox (event_id, tenant_id, due_at, made, sent_before, is_replay, reason)
  values (p_event_id, v_event.tenant_id, service_clock(), v_made, v_made, true, 'sent_again');
  insert into outbox_tally (state, delta) values ('pending', 1);
  perform pg_notify('outbox', '');
  perform append_audit(
    p_way, p_claimed, 'event.send_again', array[p_event_id],
    case when p_effect is not null then json_build_object('effect', p_effect) end
  );
  return 'sent';
end
$$;

-- The same from the console; p_claimed is the address that it was asked from.
create or replace function console_send_again(p_event_id text, p_effect text, p_seen int, p_claimed text) returns text
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select send_again(p_event_id, p_effect, p_seen, 'console', p_claimed) $$;

-- sql/functions/service_clock.sql
-- The one clock of acceptance, windows and leases. Tests replace it to move time.
create or replace function service_clock() returns timestamptz
language sql volatile parallel safe
as $$ select clock_timestamp() $$;

-- sql/functions/set_retention.sql
-- Says how many days a tenant's content is kept (null: for ever), and notes who said so; false: no such tenant.
create or replace function set_retention(p_slug text, p_days int) returns boolean
language plpgsql
as $$
begin
  update tenant as t set retention_days = p_days where t.slug = p_slug;
  if not found then
    return false;
  end if;
  perform note_audit('tenant.retention', p_slug, json_build_object('days', p_days));
  return true;
end
$$;

-- sql/functions/set_tenant.sql
-- Changes what a tenant's people see of it: name, time_zone and digest_at, of which p_changes has those that change
-- ("digest_at": null ends the digest). It notes what was changed, and never the name, which may be a person's. Returns
-- nothing when there is no such tenant. That the time zone exists is for the caller to have looked up.
create or replace function set_tenant(p_slug text, p_changes jsonb)
returns table (name text, time_zone text, digest_at time)
language plpgsql
as $$
#variable_conflict use_column
begin
  return query
  update tenant as t set
    name = coalesce(p_changes ->> 'name', t.name),
    time_zone = coalesce(p_changes ->> 'time_zone', t.time_zone),
    digest_at = case when p_changes ? 'digest_at' then (p_changes ->> 'digest_at')::time else t.digest_at end
  where t.slug = p_slug
  returning t.name, t.time_zone, t.digest_at;
  if found then
    perform note_audit(
      'tenant.set', p_slug,
      (p_changes - 'name' || case when p_changes ? 'name' then '{"name": "changed"}' else '{}' end::jsonb)::json
    );
  end if;
end
$$;

-- sql/functions/settle_outbox.sql
-- Settles what became of sends, a batch at once: delivered and dead rows leave the outbox, the others wait for
-- their next attempt, and every attempt leaves a row.
--
-- Nearly all rows are still their claim's, and have got their one settlement: one statement takes those that are
-- delivered or dead out of the outbox and writes their attempts. What it has not found is looked at one by one below.
-- Returns how many have left the outbox.
--
-- A row that has been claimed by somebody else meanwhile (the lease ran out) is theirs to settle, unless it was
-- delivered: delivered is delivered, even when the loss has made it dead. Its attempt was recorded as lost by the
-- claim, and counted: all but that is put right here. What an operator has sent again since is not delivered by what
-- was made before.
--
-- Each claim has a lease of its own, so that a row which was released and claimed again by the same process is told
-- from the row before. An event that was erased meanwhile has no row any more: its attempt is recorded, without the
-- reason. A batch may come twice, when its outcome was unknown, and so may an attempt within one: the second changes nothing.
--
-- What was delivered may come last, without an entry in p_kind, p_outcome, p_reason, p_spent and p_retry_ms: the same five
-- words for each of nearly all rows cost 2 of the process's 10 µs a row for claim and settlement.
create or replace function settle_outbox(
  p_lease text[],        -- of the claim that the row came with
  p_event_id text[],
  p_number int[],
  p_kind text[],      -- delivered | retry | dead | released (claimed, but never sent)
  p_outcome text[],
  p_status int[],
  p_reason text[],
  p_duration_ms int[],
  p_spent text[],        -- t | f
  p_retry_ms float8[]
)
returns int
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  -- Those that are to leave the outbox and have not yet.
  v_left int := cardinality(p_event_id) - cardinality(array_positions(p_kind, 'retry'))
    - cardinality(array_positions(p_kind, 'released'));
  v_delivered int;
  v_dead int;
begin
  perform keep_promise();
  -- What was said of a row must not be missing by mistake: it would be taken for delivered.
  if array_position(p_kind, null) is not null
    or not (array[cardinality(p_outcome), cardinality(p_reason), cardinality(p_spent), cardinality(p_retry_ms)]
      = array_fill(cardinality(p_kind), array[4]))
  then
    raise exception 'kind, outcome, reason, spent and delay are not of the same rows' using errcode = 'check_violation';
  end if;
  begin
    with gone as (
      delete from outbox as o
      using unnest(p_event_id, p_lease, p_number, p_kind, p_outcome, p_reason, p_status, p_duration_ms, p_spent)
        as s (event_id, lease, number, kind, outcome, reason, status, duration_ms, spent)
      where o.event_id = s.event_id and o.lease = s.lease::uuid and o.made = s.number
        and coalesce(s.kind in ('delivered', 'dead'), true)
      returning
        o.event_id, o.tenant_id, o.sent_before, s.number, s.kind, s.outcome, s.reason, s.status, s.duration_ms, s.spent
    ),
    -- Not "on conflict do nothing", which costs an entry of the WAL and a look into the index for each row.
    noted as (
      insert into attempt (event_id, number, at, outcome, status, reason, duration_ms, spent)
      select g.event_id, g.number, v_now - make_interval(secs => g.duration_ms / 1000.0), coalesce(g.outcome, 'delivered'),
        g.status, g.reason, g.duration_ms, coalesce(g.spent::boolean, true)
      from gone as g
    ),
    buried as (
      insert into dead_letter (event_id, tenant_id, died_at, reason, sent_before)
      select g.event_id, g.tenant_id, v_now, coalesce(g.reason, g.status::text), g.sent_before
      from gone as g where g.kind = 'dead'
    )
    select count(*) filter (where g.kind is distinct from 'dead'), count(*) filter (where g.kind = 'dead')
    into v_delivered, v_dead
    from gone as g;
  exception when unique_violation then
    -- Something has written one of these attempts: then none of the batch is like the many.
    v_delivered := 0;
    v_dead := 0;
  end;
  v_left := v_left - v_delivered - v_dead;

  if v_left > 0 or 'retry' = any (p_kind) then
    insert into attempt as a (event_id, number, at, outcome, status, reason, duration_ms, spent)
    select distinct on (s.event_id, s.number)
      s.event_id, s.number, v_now - make_interval(secs => s.duration_ms / 1000.0), coalesce(s.outcome, 'delivered'), s.status,
      case
        when s.reason is null then null
        when exists (select from event as e where e.event_id = s.event_id and e.removed_at is not null) then null
        else s.reason
      end,
      s.duration_ms, coalesce(s.spent::boolean, true)
    from unnest(p_event_id, p_number, p_kind, p_outcome, p_status, p_reason, p_duration_ms, p_spent)
      as s (event_id, number, kind, outcome, status, reason, duration_ms, spent)
    where s.kind = 'retry' or (v_left > 0 and s.kind is distinct from 'released')
    order by s.event_id, s.number, coalesce(s.kind <> 'delivered', false)
    on conflict (event_id, number) do update
      set at = excluded.at, outcome = excluded.outcome, status = excluded.status, reason = excluded.reason,
        duration_ms = excluded.duration_ms
      where a.outcome = 'lost' or (excluded.outcome = 'delivered' and a.outcome <> 'delivered');
  end if;

  if v_left > 0 then
    with gone as (
      delete from outbox as o
      using (
        select s.event_id, s.lease::uuid, s.number, coalesce(s.kind, 'delivered') as kind, coalesce(s.reason, s.status::text) as reason
        from unnest(p_event_id, p_lease, p_number, p_kind, p_reason, p_status)
          as s (event_id, lease, number, kind, reason, status)
        where coalesce(s.kind in ('delivered', 'dead'), true)
      ) as s
      where o.event_id = s.event_id
        and case s.kind when 'delivered' then s.number > o.sent_before else o.lease = s.lease and o.made = s.number end
      returning o.event_id, o.tenant_id, o.sent_before, s.kind, s.reason, s.number, o.made, o.lease
    ),
    -- Claimed again meanwhile. Nobody claims it once more who would record that attempt when its maker is dead.
    overtaken as (
      insert into attempt (event_id, number, at, outcome, spent)
      select g.event_id, g.made, v_now, 'lost', true from gone as g
      where g.kind = 'delivered' and g.lease is not null and g.made > g.number
      on conflict do nothing
    ),
    buried as (
      insert into dead_letter (event_id, tenant_id, died_at, reason, sent_before)
      select g.event_id, g.tenant_id, v_now, g.reason, g.sent_before from gone as g where g.kind = 'dead'
    )
    select v_delivered + count(*) filter (where g.kind = 'delivered'), v_dead + count(*) filter (where g.kind = 'dead')
    into v_delivered, v_dead
    from gone as g;

    with redeemed as (
      delete from dead_letter as d
      using unnest(p_event_id, p_number, p_kind) as s (event_id, number, kind)
      where d.event_id = s.event_id and coalesce(s.kind, 'delivered') = 'delivered' and s.number > d.sent_before
      returning d.event_id
    )
    insert into outbox_tally (state, delta)
    select 'dead', -n.count from (select count(*) from redeemed) as n (count) where n.count > 0;
  end if;

  if v_delivered + v_dead > 0 then
    insert into outbox_tally (state, delta) values ('pending', -(v_delivered + v_dead));
  end if;
  if v_dead > 0 then
    insert into outbox_tally (state, delta) values ('dead', v_dead);
  end if;

  if p_kind && array['retry', 'released'] then
    update outbox as o
    set lease = null, lease_until = null, due_at = v_now + make_interval(secs => s.retry_ms / 1000.0),
      made = o.made - (s.kind = 'released')::int, spent = o.spent - (not s.spent::boolean)::int,
      -- Released without a reason, it keeps the one before.
      reason = coalesce(s.reason, s.status::text, case when s.kind = 'released' then o.reason end)
    from unnest(p_event_id, p_lease, p_number, p_kind, p_reason, p_status, p_spent, p_retry_ms)
      as s (event_id, lease, number, kind, reason, status, spent, retry_ms)
    where o.event_id = s.event_id and o.lease = s.lease::uuid and o.made = s.number
      and s.kind in ('retry', 'released');
  end if;
  return v_delivered + v_dead;
end
$$;

-- sql/functions/trim_heartbeat.sql
-- Empties the table of the beats when it has grown to 2 MiB: two minutes of one process.
--
-- By TRUNCATE and not by DELETE, because a transaction that is held open anywhere keeps deleted rows from being
-- cleared away, and pages that are would be used again, which proves nothing. It runs with its owner's rights, since
-- the service may not truncate. When somebody is reading the table, the next run does it: beats queue behind the wait
-- for the lock.
create or replace function trim_heartbeat() returns void
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '100ms'
as $$
begin
  if pg_relation_size('heartbeat') >= 2 * 1024 * 1024 then
    truncate heartbeat;
  end if;
exception when lock_not_available then
  null;
end
$$;

-- sql/functions/wait_for_commits_of_key.sql
-- Revokes or suspends a key. It waits for the commits that hold the key's lock shared (accept), so when it has returned
-- no event of the key can commit. A trigger, so that an UPDATE by hand is as safe as the operator's command, and as
-- bounded: a commit is given up after less than the 12 s, so what takes longer is a session that hangs.
create or replace function wait_for_commits_of_key() returns trigger
language plpgsql
set lock_timeout = '12s'
as $$
begin
  perform pg_advisory_xact_lock(1, new.id);
  return new;
end
$$;

create or replace trigger wait_for_commits_of_key
before update of revoked_at, suspended_at on api_key
for each row when (
  old.revoked_at is distinct from new.revoked_at or old.suspended_at is distinct from new.suspended_at
)
execute function wait_for_commits_of_key();

-- sql/grants.sql
-- Who may do what: all of it. Applied last at every migration, also when nothing else has changed, so whatever a hand has
-- granted to the two groups or to everybody is gone after the next one. What it has granted to a role of its own stays.
--
-- Whatever is not listed at the end is the owner's alone. WHOEVER ADDS A TABLE OR A FUNCTION lists it there, when the
-- service or the actions process needs it, and in test/store/rights.test.ts in any case: that test tries each one as
-- each role.
--
-- lead_service: the service process. lead_actions: the actions process. Neither writes a table: they call functions
-- that run with the owner's rights (security definer), which is why each of these has its search_path pinned, pg_temp
-- last. Functions that only read run with the rights of the caller. What only the owner may call needs none of this: it
-- runs in the owner's session or within one of those.

-- The groups: a login role is made a member of one (create role intake login in role lead_service). They belong to the
-- whole server, so another database may have made them already, even at this moment.
do $$
declare
  v_role text;
begin
  foreach v_role in array array['lead_service', 'lead_actions'] loop
    if not exists (select from pg_roles where rolname = v_role) then
      begin
        execute format('create role %I nologin', v_role);
      exception
        when duplicate_object or unique_violation then null;
        when insufficient_privilege then
          raise exception 'The role % does not exist and % may not create it; as a role that may, run: create role lead_service nologin; create role lead_actions nologin;',
            v_role, current_user
            using errcode = 'insufficient_privilege';
      end;
    end if;
  end loop;
end
$$;

-- Closed to begin with. A database restored from a dump, or made by a template, comes with the rights of a new one.
do $$
begin
  if (select pg_has_role(d.datdba, 'usage') from pg_database as d where d.datname = current_database()) then
    execute format('revoke all on database %I from public, lead_service, lead_actions cascade', current_database());
    execute format('grant connect on database %I to lead_service, lead_actions', current_database());
  end if;
  -- Everybody may still look names up in it: others may have theirs there.
  revoke create on schema public from public cascade;
  -- Before PostgreSQL 15 the schema is the superuser's, and what another role revokes of it stays.
  if exists (
    select from pg_namespace as n cross join aclexplode(n.nspacl) as a
    where n.nspname = 'public' and a.grantee = 0 and a.privilege_type = 'CREATE'
  ) then
    raise exception
      'Everybody may create objects in the schema public, and % may not change that; as a superuser, in this database, run: alter schema public owner to %;',
      current_user, quote_ident(current_user)
      using errcode = 'insufficient_privilege';
  end if;
end
$$;
revoke all on schema public from lead_service, lead_actions cascade;
revoke all on schema actions from public, lead_service, lead_actions cascade;
-- All but what is another's, which only he may close, and an extension's (pg_stat_statements), whose callers count on it.
do $$
declare
  v_object record;
begin
  for v_object in
    with object as (
      select 'pg_class'::regclass as catalog, c.oid, c.relowner as owner, c.relnamespace as namespace,
        case c.relkind when 'S' then 'sequence' else 'table' end as kind, c.oid::regclass::text as name
      from pg_class as c where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      union all
      select 'pg_proc'::regclass, p.oid, p.proowner, p.pronamespace, 'routine', p.oid::regprocedure::text from pg_proc as p
      union all
      select 'pg_type'::regclass, t.oid, t.typowner, t.typnamespace, 'type', t.oid::regtype::text
      from pg_type as t where t.typtype in ('d', 'e', 'r')
    )
    select o.kind, o.name from object as o
    where o.namespace in ('public'::regnamespace, 'actions'::regnamespace) and pg_has_role(o.owner, 'usage')
      and not exists (
        select from pg_depend as d where d.classid = o.catalog and d.objid = o.oid and d.deptype = 'e'
      )
  loop
    execute format('revoke all on %s %s from public, lead_service, lead_actions cascade', v_object.kind, v_object.name);
  end loop;
end
$$;
-- Of what this role will make, in any schema of the database and in ours.
do $$
declare
  v_kind text;
begin
  foreach v_kind in array array['tables', 'sequences', 'routines', 'types'] loop
    execute format('alter default privileges revoke all on %s from public, lead_service, lead_actions', v_kind);
    execute format(
      'alter default privileges in schema public, actions revoke all on %s from public, lead_service, lead_actions', v_kind
    );
  end loop;
end
$$;

-- The list.
grant usage on schema public to lead_service, lead_actions;
grant usage on schema actions to lead_actions;

-- What the service looks up, and what the operator's pages show.
grant select on
  event, lead_contact, lead_contact_todo, collision, submission, outbox, attempt, dead_letter, area, unknown_area, form, plan, ip_limit, audit, audit_head,
  hour_total, hour_rolled, duplicate_total, refusal_total, minute_sample, schema_file, schema_release
to lead_service;
grant select (id, slug, name, sandbox, has_route, retention_days, time_zone, digest_at, disabled_at, created_at) on tenant to lead_service;
grant select (id, slug) on campaign to lead_service;
grant select (
  id, tenant_id, campaign_id, surface, label, digest, last4, created_at, last_used_at, revoked_at, suspended_at,
  limit_per_minute, limit_burst, limit_until
) on api_key to lead_service;

-- effects_of shows a part of the routes, which the service does not see otherwise: it says which, and why.
grant execute on function
  service_clock, event_id_at, hour_figures, due_tenants, delivery_standing,
  accept, claim_outbox, settle_outbox, beat, trim_heartbeat, lease_limits,
  add_refusals, add_duplicates, add_minute_sample,
  compact_outbox_tally, compact_campaign_charge, compact_unknown_area, roll_up_hours, expire_content, fill_lead_contact,
  forget_tombstones,
  begin_checkout, open_checkout, fail_checkout, apply_provider_event, forget_checkouts,
  effects_of, console_send_again, console_replay_dead, console_release_submission, console_dismiss_submission,
  console_confirm_area, console_accept_collision, console_dismiss_collision
to lead_service;

grant select on schema_file, schema_release to lead_actions;
grant execute on function actions.begin_effects, actions.settle_effect, actions.routes_of, actions.begin_digest,
  actions.settle_digest
to lead_actions;

-- The data. Neither triggers nor foreign keys look at it.
set session_replication_role = replica;
truncate actions.digest, actions.effect, actions.route, api_key, area, attempt, audit, audit_head, campaign, campaign_charge, collision, dead_letter, duplicate_total, event, form, heartbeat, hour_rolled, hour_total, ip_limit, lead_contact, lead_contact_todo, limit_bucket, limit_lease, limit_node, limit_seed, minute_sample, outbox, outbox_tally, plan, provider_event, refusal_total, retention_cursor, retention_left, schema_file, schema_release, submission, subscription, tenant, tombstone, tombstone_key, unknown_area_seen;
insert into actions.digest (tenant_id, route_id, due_at, told_until, trying_at, trying_until, attempts, next_at, lease, lease_until, reason) overriding system value values
  ('1', '1', '2026-11-23 07:00:00+00', '2026-11-23 07:00:00+00', NULL, NULL, '0', '-infinity', NULL, NULL, NULL);
insert into actions.effect (event_id, route_id, effect, round, attempts, lease, lease_until, is_done, settled_at, reason, status, answer) overriding system value values
  ('0660ed004790df000119c2847ee378af449360', '1', 'email', '0', '1', '5a42cc9e-6e5b-4510-83b0-3123d738d000', '2026-11-23 08:01:29.484404+00', 'false', NULL, NULL, NULL, NULL);
insert into actions.route (id, tenant_id, kind, source, form, address, secret, secret_before, secret_before_until, changed_at) overriding system value values
  ('1', '1', 'email', '', '', 'leads@acme.example', NULL, NULL, NULL, '2026-11-23 08:01:28.456446+00');
insert into api_key (id, tenant_id, campaign_id, surface, label, digest, last4, created_at, last_used_at, revoked_at, suspended_at, limit_per_minute, limit_burst, limit_until) overriding system value values
  ('1', '1', '1', 'intake', 'partner', E'\\x7f3fa48ca885678134842fa7456f3ece53a97f843b610185d900ac4e467c7490', 'aaaa', '2026-11-23 08:01:28.456446+00', '2026-11-23 08:01:28.456446+00', NULL, NULL, NULL, NULL, NULL),
  ('2', '1', NULL, 'forms', 'web', E'\\x4b5e57f6eb2f42b9039b3d1e13929295f231749c510cbe341cd68036d9af97e2', 'bbbb', '2026-11-23 08:01:28.456446+00', NULL, NULL, NULL, NULL, NULL, NULL),
  ('3', '3', NULL, 'intake', 'trial', E'\\x79891e980747ffbd21e690297394efe764fa56d7e37750f800879fbb2d34571a', 'cccc', '2026-11-23 08:01:28.456446+00', NULL, NULL, NULL, NULL, NULL, NULL);
insert into area (area, status, created_at) overriding system value values
  ('attic', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('backyard', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('basement', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('bathroom', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('bedroom', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('chimney', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('closet', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('crawl space', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('deck', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('dining room', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('doors', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('driveway', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('electrical', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('exterior', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('fence', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('flooring', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('foundation', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('garage', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('gutters', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('home office', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('hvac', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('insulation', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('kitchen', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('landscaping', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('laundry room', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('living room', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('patio', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('plumbing', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('pool', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('porch', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('roof', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('siding', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('solar', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('stairs', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('walls', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('whole home', 'confirmed', '2026-11-23 08:01:28.338371+00'),
  ('windows', 'confirmed', '2026-11-23 08:01:28.338371+00');
insert into attempt (event_id, number, at, outcome, status, reason, duration_ms, spent) overriding system value values
  ('0660ed004790df000119c2847ee378af449360', '1', '2026-11-23 08:01:28.469914+00', 'delivered', '200', NULL, '12', 'true'),
  ('0660ed004790df00026df73443b30ab1f3869e', '1', '2026-11-23 08:01:28.469914+00', 'refused', '400', NULL, '12', 'true'),
  ('0660ed004790df00037412b7e825bbdb16e6b4', '1', '2026-11-23 08:01:28.469914+00', 'unreachable', NULL, NULL, '12', 'true');
insert into audit (id, at, actor, claimed, action, subject, detail, digest) overriding system value values
  ('1', '2026-11-23 08:01:28.464906+00', 'ctl postgres', NULL, 'tenant.route', 'acme', '{"email": "set", "new_secret": false}', E'\\x4a868c9606411d614351e566a54dcec32653b76d1e99f5b312a63013668838fa'),
  ('2', '2026-11-23 08:01:28.495166+00', 'ctl postgres', NULL, 'tenant.add', 'acme', NULL, E'\\x78e365835748244e9b90264e25ef2a46270b57e04eda78bedab36e409699d520'),
  ('3', '2026-11-23 08:01:28.495415+00', 'ctl postgres', NULL, 'tenant.add', 'acme', NULL, E'\\xcdee0728e9f374d15c81b1bf68d36f3a082d7d9db0373f0acf0f9ff803fa4ea6'),
  ('4', '2026-11-23 08:01:28.500878+00', 'ctl postgres', NULL, 'plan.put', 'basic', '{"change" : "added", "amount_cents" : 1500}', E'\\x5a5191229fb6828bfa1cb39daf2d6b55dd8fd928b37964485a99719d59863817');
insert into audit_head (is_only, id, digest) overriding system value values
  ('true', '4', E'\\x5a5191229fb6828bfa1cb39daf2d6b55dd8fd928b37964485a99719d59863817');
insert into campaign (id, tenant_id, slug, created_at) overriding system value values
  ('1', '1', 'spring', '2026-11-23 08:01:28.456446+00');
insert into campaign_charge (campaign_id, cents) overriding system value values
  ('1', '1250');
insert into collision (id, event_id, content_digest, key_id, count, first_at, last_at, lead, extra, raw, flags, form_id, score, reasons, phone, email, last_name, other_person, settled_at, accepted_event_id) overriding system value values
  ('1', '0660ed004790df000119c2847ee378af449360', '795f3202-b17c-b6bc-3d4b-771d8c6c9eaf', '1', '1', '2026-11-23 08:01:28.473252+00', '2026-11-23 08:01:28.473252+00', '{"last_name":"Hopper"}', NULL, '{}', '{}', NULL, NULL, NULL, NULL, NULL, NULL, 'true', NULL, NULL);
insert into dead_letter (event_id, tenant_id, died_at, reason, sent_before) overriding system value values
  ('0660ed004790df00026df73443b30ab1f3869e', '1', '2026-11-23 08:01:28.481914+00', '400', '0');
insert into duplicate_total (day, key_id, count) overriding system value values
  ('2026-11-23', '1', '3');
insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, dedupe_digest, content_digest, idempotency_key, flags, lead, extra, raw, cost_cents, removed_at, removed_by) overriding system value values
  ('065c3601ccdcfe000539da2752f045d5af013e', 'lead', '3', '3', '2026-09-24 08:01:28.456446+00', 'k', 'e4da3b7f-bbce-2345-d777-2b0674a318d5', '9fd5be8a-5f88-0452-b9d0-c2cfced3e76a', 'acme:lead:5', '{}', '{"first_name":"Ada","last_name":"Lovelace","phone":"+15555550123","project_area":"moat","cost_cents":1250}', NULL, '{"last_name":"Lovelace"}', NULL, NULL, NULL),
  ('0660ed004790df000119c2847ee378af449360', 'lead', '1', '1', '2026-11-23 08:01:28.469727+00', 'k', 'c4ca4238-a0b9-2382-0dcc-509a6f75849b', '7e55db00-1d31-9a94-b0b7-13529a756623', 'acme:lead:1', '{project_area_unknown}', '{"first_name":"Ada","last_name":"Lovelace","phone":"+15555550123","project_area":"moat","cost_cents":1250}', NULL, '{"last_name":"Lovelace"}', NULL, NULL, NULL),
  ('0660ed004790df00026df73443b30ab1f3869e', 'lead', '1', '1', '2026-11-23 08:01:28.469727+00', 'k', 'c81e728d-9d4c-2f63-6f06-7f89cc14862c', 'eea670f4-ac94-1df7-1a3b-5f268ebe3eac', 'acme:lead:2', '{}', '{"first_name":"Ada","last_name":"Lovelace","phone":"+15555550123","project_area":"moat","cost_cents":1250}', NULL, '{"last_name":"Lovelace"}', NULL, NULL, NULL),
  ('0660ed004790df00037412b7e825bbdb16e6b4', 'lead', '1', '1', '2026-11-23 08:01:28.469727+00', 'k', 'eccbc87e-4b5c-e2fe-2830-8fd9f2a7baf3', 'c96310e5-5d96-77b9-78ea-e0dada47642c', 'acme:lead:3', '{}', '{"first_name":"Ada","last_name":"Lovelace","phone":"+15555550123","project_area":"moat","cost_cents":1250}', NULL, '{"last_name":"Lovelace"}', NULL, NULL, NULL),
  ('0660ed004790df00049f35e5a9ff38e1d23c7e', 'lead', '1', '1', '2026-11-23 08:01:28.469727+00', 'k', 'a87ff679-a2f3-e71d-9181-a67b7542122c', 'e22e815a-116e-7bde-a9a5-9a87e63464a1', 'acme:lead:4', '{}', '{"first_name":"Ada","last_name":"Lovelace","phone":"+15555550123","project_area":"moat","cost_cents":1250}', NULL, '{"last_name":"Lovelace"}', NULL, NULL, NULL),
  ('0660ed004790df00060d0fc148261af195ed21', 'lead', '3', '3', '2026-11-23 08:01:28.469727+00', 'k', '1679091c-5a88-0faf-6fb5-e6087eb1b2dc', 'f4a40d59-0cbb-5329-0e7b-a914e24a346c', 'acme:lead:6', '{}', '{"first_name":"Ada","last_name":"Lovelace","phone":"+15555550123","project_area":"moat","cost_cents":1250}', NULL, '{"last_name":"Lovelace"}', NULL, NULL, NULL),
  ('0660ed0047aa440001c9ab1ac8a0fca29c777c', 'form', '1', '2', '2026-11-23 08:01:28.476228+00', 'C', '8fa14cdd-754f-91cc-6554-c9e71929cce7', '8fa14cdd-754f-91cc-6554-c9e71929cce7', NULL, '{}', '{}', NULL, 'a=1', NULL, NULL, NULL),
  ('0660ed0047aa440002a95a5991822923f47c5a', 'form', '1', '2', '2026-11-23 08:01:28.476228+00', 'C', 'b2f5ff47-4366-71b6-e533-d8dc3614845d', 'b2f5ff47-4366-71b6-e533-d8dc3614845d', NULL, '{}', '{}', NULL, 'a=2', NULL, NULL, NULL);
insert into form (id, tenant_id, form_key, required, threshold, blocked, created_at, removed_at) overriding system value values
  ('1', '1', 'contact', '{name}', NULL, '{}', '2026-11-23 08:01:28.456446+00', NULL);
insert into heartbeat (slot, filler) overriding system value values
  ('1', '------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------');
insert into hour_rolled (hour, rolled_at, is_final) overriding system value values
  ('2026-11-23 07:00:00+00', '2026-11-23 08:01:28.488795+00', 'true');
insert into hour_total (hour, key_id, accepted, spend_cents, flags, seconds) overriding system value values
  ('2026-09-24 08:00:00+00', '3', '1', '1250', '{}', '{}');
insert into ip_limit (network, per_minute, burst, until) overriding system value values
  ('192.0.2.0/24', '6000', '600', '2026-11-24 08:01:28.456446+00');
insert into lead_contact (event_id, phone, email, last_name) overriding system value values
  ('0660ed004790df000119c2847ee378af449360', '+15555550123', NULL, 'lovelace'),
  ('0660ed004790df00026df73443b30ab1f3869e', '+15555550123', NULL, 'lovelace'),
  ('0660ed004790df00037412b7e825bbdb16e6b4', '+15555550123', NULL, 'lovelace'),
  ('0660ed004790df00049f35e5a9ff38e1d23c7e', '+15555550123', NULL, 'lovelace'),
  ('0660ed004790df000539da2752f045d5af013e', '+15555550123', NULL, 'lovelace'),
  ('0660ed004790df00060d0fc148261af195ed21', '+15555550123', NULL, 'lovelace');
insert into lead_contact_todo (id_start) overriding system value values
  ('0660ed0047aa44');
insert into limit_bucket (hash, owed, spilled, at, told_at) overriding system value values
  ('1', '3', '0.00208', '2026-11-23 08:01:28.49624+00', '2026-11-23 08:01:28.496032+00');
insert into limit_lease (hash, node, spent, held, spilled, demand, at) overriding system value values
  ('1', '3bf96be3-4c07-4a01-828b-6ee1b615f8e2', '3', '98', '0.00208', '3', '2026-11-23 08:01:28.49624+00');
insert into limit_node (node, surfaces, seen_at) overriding system value values
  ('69e2198e-cc2f-4208-a7ee-352b57a608dc', '{intake}', '2026-11-23 08:01:28.49417+00');
insert into limit_seed (seed, one) overriding system value values
  ('7789e522-d45a-4af3-8577-58c6f97ef237', 'true');
insert into minute_sample (at, node, accepted, refused, delivered, failed, died, refusals, pending, dead, oldest_pending_s, breaker) overriding system value values
  ('2026-11-23 08:01:00+00', 'node', '8', '7', '1', '2', '1', '{"rate_limited": 7}', '5', '1', '1.5', 'closed');
insert into outbox (event_id, tenant_id, due_at, made, spent, sent_before, is_replay, lease, lease_until, reason) overriding system value values
  ('065c3601ccdcfe000539da2752f045d5af013e', '3', '2026-11-23 08:01:28.469727+00', '0', '0', '0', 'false', NULL, NULL, NULL),
  ('0660ed004790df00037412b7e825bbdb16e6b4', '1', '2026-11-23 08:01:29.481914+00', '1', '1', '0', 'false', NULL, NULL, NULL),
  ('0660ed004790df00049f35e5a9ff38e1d23c7e', '1', '2026-11-23 08:01:28.469727+00', '0', '0', '0', 'false', NULL, NULL, NULL),
  ('0660ed004790df00060d0fc148261af195ed21', '3', '2026-11-23 08:01:28.469727+00', '0', '0', '0', 'false', NULL, NULL, NULL),
  ('0660ed0047aa440001c9ab1ac8a0fca29c777c', '1', '2026-11-23 08:01:28.476228+00', '0', '0', '0', 'false', NULL, NULL, NULL);
insert into outbox_tally (state, delta) overriding system value values
  ('dead', '1'),
  ('pending', '-2'),
  ('pending', '1'),
  ('pending', '6');
insert into plan (slug, name, customer, amount_cents, billing_interval, body, updated_at) overriding system value values
  ('basic', 'Basic', 'acme', '1500', 'month', '{"slug":"basic"}', '2026-11-23 08:01:28.500638+00');
insert into provider_event (event_id, type, created_at, received_at) overriding system value values
  ('evt_1', 'checkout.session.completed', '2026-11-23 08:01:28.456446+00', '2026-11-23 08:01:28.50204+00');
insert into refusal_total (day, key_id, reason, field, count) overriding system value values
  ('2026-11-23', '1', 'required', 'phone', '7');
insert into retention_cursor (key_id, after_id, looked_at) overriding system value values
  ('3', '065c3601ccdcfe000539da2752f045d5af013e', '2026-11-23 08:01:28.486487+00');
insert into retention_left (event_id, tenant_id, look_at) overriding system value values
  ('065c3601ccdcfe000539da2752f045d5af013e', '3', '2026-11-23 09:01:28.486487+00');
insert into schema_file (name, digest, applied_at) overriding system value values
  ('0001_tenant.sql', '1015db6cdf14ee385afe7bcecc46d287717145b88fa592877cf6ab5f3de93915', '2026-11-23 08:01:28.324205+00'),
  ('0002_campaign.sql', 'e06a2e9ae486cc1646015b89ba3ae6f0d24bf878c94300469151896bbdb271a3', '2026-11-23 08:01:28.32852+00'),
  ('0003_key.sql', '4d97f13f4c1841858ed2117213cb429ae72b9b135c1c07ee2bf6d67981e73bd2', '2026-11-23 08:01:28.333868+00'),
  ('0004_area.sql', '9c62060de94c3f0165ff3cfc13e1c355576366b3cf4d55f035cc6fae4fd0c5f1', '2026-11-23 08:01:28.338371+00'),
  ('0005_event.sql', '833255ae2a5557d785ab0f6ed3e3b20058c3d61599fb8021caad923ff1a96095', '2026-11-23 08:01:28.342301+00'),
  ('0006_outbox.sql', '940de9ce903e0573ca88b3d55a805dc647b279f7b21e13e2c112c285893f3ae7', '2026-11-23 08:01:28.347999+00'),
  ('0007_form.sql', '90e1f623683b5908717e151154be1adae6b13a95400955364b2425fb84c785f8', '2026-11-23 08:01:28.353144+00'),
  ('0008_plan.sql', '8f0e17609b4f792c3fdcaa336f36523aa8d1c52ea851d8e6af9ece85529483d6', '2026-11-23 08:01:28.35962+00'),
  ('0009_actions.sql', '49c3b70f7391572ea055d368c219cb64f50e853cf3b7d7517ebdc3a466367957', '2026-11-23 08:01:28.365457+00'),
  ('0010_audit.sql', '0d7f76a09ba9f1b1633e49bfbd5f3c2e4e52437a7c5e79469c03b1d052337940', '2026-11-23 08:01:28.37231+00'),
  ('0011_tombstone.sql', 'ca878977a9d76c2ba6c178552d1b7e04381407c20addc7919f5a9028b7d1e87c', '2026-11-23 08:01:28.376245+00'),
  ('0012_retention.sql', 'b208daa5218f8dd70c2ebbe29867d68c12ff1b0992e0abddcd9f81d375be8694', '2026-11-23 08:01:28.380091+00'),
  ('0013_figures.sql', 'e65a6946a65867f7ad66186f11dc57f6ac1a9ea6d10b013a6e33fd63cfb893aa', '2026-11-23 08:01:28.383373+00'),
  ('0014_heartbeat.sql', '75949088c57800dee706cf76ebf8689de9f8fccf221c8b8e3890f5fbe2c7e124', '2026-11-23 08:01:28.390889+00'),
  ('0015_search.sql', 'b4d3433a8f34b0bcbb8112ff1cd0a5b4f9b74fc6ed98b21241a07352fd4defc0', '2026-11-23 08:01:28.392968+00'),
  ('0016_limit.sql', '48ed0df99e4ffd4c4974a2acae824943fdc82dd2b1659a807777dd828ff0bf1b', '2026-11-23 08:01:28.39574+00'),
  ('0017_lead_contact.sql', '87dd71b35ec7d03da2700d7817308a7524edc5430ae5fec2f2c9f8b96f636440', '2026-11-23 08:01:28.400483+00'),
  ('functions/accept.sql', '3045e277216dbdf60bf969256012b4a7885bf4bc2fdbabd5312af35d14d49c88', '2026-11-23 08:01:28.403585+00'),
  ('functions/accept_collision.sql', '9b03d02300be4a5edb120f943e8c783d79ad06880d1463a35ba5cfd1f3f7967d', '2026-11-23 08:01:28.403585+00'),
  ('functions/actions_begin_digest.sql', '2c009f4428052614e6b8cfaa70ff4badcbae621114d9debb46beaafdeb5e3476', '2026-11-23 08:01:28.403585+00'),
  ('functions/actions_begin_effects.sql', '4a1082268ff602bf2d6364336a109e0b395958b83f33f57cfa03e3df11b9af6b', '2026-11-23 08:01:28.403585+00'),
  ('functions/actions_digest_due.sql', 'efc980e2eee9c3a3c1504c286e726b24127a8ffb409a87386c206ac5454ecc1b', '2026-11-23 08:01:28.403585+00'),
  ('functions/actions_note_route.sql', '1726ced0adf506b2dfb4a3041fe35a59ba22ace2209e4720bd2e1ef49b6ba2ec', '2026-11-23 08:01:28.403585+00'),
  ('functions/actions_routes_for.sql', 'fe1306ea5d2fda5387ff27794cd6be69179e31e2f3d9039767e06e23e7dfaefe', '2026-11-23 08:01:28.403585+00'),
  ('functions/actions_routes_of.sql', 'a1d0fe2ae38bfdc37e77e42ed9ce354ae58c420a77aa3e1de0215a1616027659', '2026-11-23 08:01:28.403585+00'),
  ('functions/actions_set_route.sql', '8c57cf95e7cb8d2ff16d8510f9206152ffbdfd08666a795004ef542551449cf8', '2026-11-23 08:01:28.403585+00'),
  ('functions/actions_settle_digest.sql', '76fff50e44fc0fae13752c2136e4cb668a2bacff9467be3419f21b838e1299bb', '2026-11-23 08:01:28.403585+00'),
  ('functions/actions_settle_effect.sql', '3a30b05a8d7e7bbe50fb92e7d6b3abbb320268934d963db7360f4430a8113b52', '2026-11-23 08:01:28.403585+00'),
  ('functions/add_duplicates.sql', '52f2397f7082ef302e9d41446ca25e366f09c17d65e70253ea382bf0360c6f7a', '2026-11-23 08:01:28.403585+00'),
  ('functions/add_minute_sample.sql', '809aa3e1b73689d8b4f7c2bc4ff7f7f6b97fdf6053140e97a11c2afc1dcb5510', '2026-11-23 08:01:28.403585+00'),
  ('functions/add_refusals.sql', 'b20f004fbdcda1805b95aed5b4b8f78f9f917f4d0c8756e64ed95013a88d3f05', '2026-11-23 08:01:28.403585+00'),
  ('functions/append_audit.sql', 'f971945ee79c805aeadb8f2614e54e4a6042e7dac0cca0a67f5638727659c1fd', '2026-11-23 08:01:28.403585+00'),
  ('functions/apply_provider_event.sql', '1d8e1fecfb2da1bcd3470ea8f372f7b0656428ce42f0e759b5b70245806cf6c3', '2026-11-23 08:01:28.403585+00'),
  ('functions/beat.sql', '9b772d025938719203e9d71b6b9c097d557ac4031f4e1a09db04e202f5c0d84d', '2026-11-23 08:01:28.403585+00'),
  ('functions/begin_checkout.sql', 'fa989593910841aaf7d0726741dc982b0d8a2c55db7b17c3e05d7c0adc75647e', '2026-11-23 08:01:28.403585+00'),
  ('functions/claim_outbox.sql', '6dce0ab5729a7c2599241531a7b550257f85a477b89a825f42a196d830efdb69', '2026-11-23 08:01:28.403585+00'),
  ('functions/compact_campaign_charge.sql', '1530d74f7971f4bc286df580e246e20114a25a261cd9a762b06651b463dd3c9c', '2026-11-23 08:01:28.403585+00'),
  ('functions/compact_outbox_tally.sql', 'c34a1a3e94a4fc7e30407956ee5c1ad3144797d001dab2f4c704c21d48ef7ba1', '2026-11-23 08:01:28.403585+00'),
  ('functions/compact_unknown_area.sql', '3c259fd683e1a987559620b5438e1c6ea58a833b46f403bfb66688c750bee4a0', '2026-11-23 08:01:28.403585+00'),
  ('functions/console_confirm_area.sql', 'cde90ecbd976da556ff3f355c69c9b6df080da564b54874d9795221e6efd87d2', '2026-11-23 08:01:28.403585+00'),
  ('functions/delivery_standing.sql', 'fd00d54cb51c04f092720f1a05da75cbd18f0f1cf484aabf8bbb174083826410', '2026-11-23 08:01:28.403585+00'),
  ('functions/disable_tenant.sql', '8a97e642287c56f17e2f1d9dea7758a6a90ca35dc01a3e326c0b62e573adedcf', '2026-11-23 08:01:28.403585+00'),
  ('functions/dismiss_collision.sql', '7c5c39fb9f1e177b02028571772d27311d749dabf16fb54e97a85edb65038c3d', '2026-11-23 08:01:28.403585+00'),
  ('functions/dismiss_submission.sql', 'eab967a6504825dec457ae04bee09df7e10a8ecaae08eb339d9531430683e53a', '2026-11-23 08:01:28.403585+00'),
  ('functions/due_tenants.sql', 'eb2ff219f20ceae77d2bc433c6845b4b1a0aca499e12257fe45ddfeae9ea2d3f', '2026-11-23 08:01:28.403585+00'),
  ('functions/effects_of.sql', 'eedffb231f9fa4b549bd058e8e56db3936acf765e4a0d532b8edd09019bae054', '2026-11-23 08:01:28.403585+00'),
  ('functions/erase_candidates.sql', '5d9864591a93f54f9635f43a6081ba37990cb1dd844238003eaabefe2b0ba134', '2026-11-23 08:01:28.403585+00'),
  ('functions/erase_event.sql', '29a7695a56b7bb9751469c9bd9969634bfce67db64ab31cb8e49340353a1a834', '2026-11-23 08:01:28.403585+00'),
  ('functions/event_id.sql', '62ba04b6e86ccdc66d2263c7e004ed8486ed6626834d1c08cb1eb61c0ced43e5', '2026-11-23 08:01:28.403585+00'),
  ('functions/expire_content.sql', '40411fcf287b5b2745c1962b24384e305008a3ab6abd93354ed3c3ddc3322b5c', '2026-11-23 08:01:28.403585+00'),
  ('functions/fill_lead_contact.sql', 'fc81e89b44f5224d104430b1cbe63e9dbcaa30f7a3e5827cb90e0c6680c65f7c', '2026-11-23 08:01:28.403585+00'),
  ('functions/forget_checkouts.sql', '608dd443b40fad9fbae2820657df9d6e072ba1194905a8e2fce7c431022c00de', '2026-11-23 08:01:28.403585+00'),
  ('functions/forget_limits.sql', '06521b24e655aca2b90bab842b1a4e75caf26363d2c05cb71cf757a0473e31d9', '2026-11-23 08:01:28.403585+00'),
  ('functions/forget_unknown_area.sql', 'f2d3ef76e951df2dc9654c9c7f6f4d48c9c55b50052562b594e4ae26795c6219', '2026-11-23 08:01:28.403585+00'),
  ('functions/hold_events.sql', '68c268a90cbc7294901b29e356eb0708ea2ec2895f8e5a59b2b9a951387001fd', '2026-11-23 08:01:28.403585+00'),
  ('functions/hour_figures.sql', 'e5412055595f9d3e51a06e6ff3271350abfc40ae4080170b98a210da7d68750a', '2026-11-23 08:01:28.403585+00'),
  ('functions/keep_promise.sql', 'b5530969936bb5560da270e49d436e255452e8f2a3ae7b87d84edf6f2741a2e5', '2026-11-23 08:01:28.403585+00'),
  ('functions/lay_tombstone.sql', 'ec3995b1dbba369d0b2fbb7037ff4d90d40c1f913bb89312b9966acb5f5c2169', '2026-11-23 08:01:28.403585+00'),
  ('functions/lease_limits.sql', '0a2a690399ae5deb467066f633f4d626608db0726b0122d60cb418f5a3ad07f7', '2026-11-23 08:01:28.403585+00'),
  ('functions/mark_effects_done.sql', '91f61e3c84e7b13b2b1dd43568925bf94a1c20d79debea8faff8193bde8775d6', '2026-11-23 08:01:28.403585+00'),
  ('functions/note_audit.sql', '0aede556d16440b89713d10c91373fb9b7f20d6e90eade9b03735668dbbb833a', '2026-11-23 08:01:28.403585+00'),
  ('functions/open_checkout.sql', 'a59d72c72c71cbc562f64b303164306947abd48b9ebf9cbd7b6d7b3403fcd243', '2026-11-23 08:01:28.403585+00'),
  ('functions/put_plans.sql', '518636aa198c98e718ff91b03493c8fbbda7141291b6dc94c5e2cf4d5155e86c', '2026-11-23 08:01:28.403585+00'),
  ('functions/release_submission.sql', '841f928ec9d60e52855cd00b9aa2d39cb5b82b597d902b1770d1d9b75e418f32', '2026-11-23 08:01:28.403585+00'),
  ('functions/remove_content.sql', '42c57c053fa4e02dd1946bbfc5703a9cc34c9cca185908d2026628d9b4f1833f', '2026-11-23 08:01:28.403585+00'),
  ('functions/replay_dead.sql', '02267ff43dcc02297b4487cce7c078ca19ec5b27de916f2764c6fc9321c2d617', '2026-11-23 08:01:28.403585+00'),
  ('functions/replay_dead_as.sql', '86d3f36c7c279654bc2609b0ffefd5afc9ce0d22e0e29dda9ff2ffce09d249c8', '2026-11-23 08:01:28.403585+00'),
  ('functions/roll_up_hours.sql', '729df86ec98741131b2da8d559c830ab5a29207af94ef1a4c723487517494b9e', '2026-11-23 08:01:28.403585+00'),
  ('functions/send_again.sql', '37526a1cf3023db915a81ba08213168d5c1b1080caca077346d69b623f3da8cf', '2026-11-23 08:01:28.403585+00'),
  ('functions/service_clock.sql', '297ae045b1b69591a144ec9937944d9d5589999a79293512ca8bb6a94e103f94', '2026-11-23 08:01:28.403585+00'),
  ('functions/set_retention.sql', '6c13b1c78f49f49e219bdd16d76d6078bdf01d745952907e2024e478dece0736', '2026-11-23 08:01:28.403585+00'),
  ('functions/set_tenant.sql', '91250a7ce795a95a0e4f7b25329ed67a353df544d287ce52820ed3445850132e', '2026-11-23 08:01:28.403585+00'),
  ('functions/settle_outbox.sql', '1423cb8fdac9534cdb25b2fd57cfa373ca514e3b374f6ca550efd3f7937052ab', '2026-11-23 08:01:28.403585+00'),
  ('functions/trim_heartbeat.sql', '0f8ba657c7b87706cffe5c3243012d99b0a494cea4e9a7b004f2f8f1f3f2edb6', '2026-11-23 08:01:28.403585+00'),
  ('functions/wait_for_commits_of_key.sql', 'e692aec25b9074d988b05b31ac86a84ff7c0bd4c74bfbc4b1784c8be1495785b', '2026-11-23 08:01:28.403585+00'),
  ('grants.sql', '68a04d7bb75708b64bca47fe48ec680a55ab9e6eaa1418a1ed88edc2e82998d9', '2026-11-23 08:01:28.403585+00');
insert into schema_release (fingerprint, version, is_current) overriding system value values
  ('e12981f8319d4fbd3bc3a73155f82055961bdfac7a318737f526d20a1ffb4e18', '0.1.0', 'true');
insert into submission (event_id, tenant_id, form_id, verdict, score, reasons, released_at, dismissed_at, phone, email, last_name) overriding system value values
  ('0660ed0047aa440001c9ab1ac8a0fca29c777c', '1', '1', 'clean', '0', '{}', NULL, NULL, '+15555550123', 'ada@example.com', 'lovelace'),
  ('0660ed0047aa440002a95a5991822923f47c5a', '1', '1', 'spam', '9', '{links}', NULL, NULL, NULL, NULL, NULL);
insert into subscription (id, plan_slug, plan_name, plan_customer, amount_cents, billing_interval, state, state_event_at, key_digest, request_digest, session_id, session_url, session_expires_at, provider_subscription_id, provider_customer_id, created_at, updated_at) overriding system value values
  ('2c5ed089-9e5d-4a6c-b2e0-32311f002f8b', 'basic', 'Basic', 'acme', '1500', 'month', 'active', '2026-11-23 08:01:28.456446+00', '7b1bd285-73d6-41bf-947b-d104efb5e5c8', '95f15566-18db-42f9-b292-139e8b0a3190', 'cs_1', NULL, NULL, 'sub_1', 'cus_1', '2026-11-23 08:01:28.501177+00', '2026-11-23 08:01:28.50204+00');
insert into tenant (id, slug, name, sandbox, has_route, retention_days, time_zone, digest_at, disabled_at, created_at) overriding system value values
  ('1', 'acme', 'Acme', 'false', 'true', NULL, 'UTC', '07:00:00', NULL, '2026-11-23 08:01:28.456446+00'),
  ('2', 'globex', 'Globex', 'false', 'false', NULL, 'UTC', NULL, NULL, '2026-11-23 08:01:28.456446+00'),
  ('3', 'trial', 'Trial', 'true', 'false', '30', 'UTC', NULL, NULL, '2026-11-23 08:01:28.456446+00');
insert into tombstone (run, digest, posted_until, expires_at) overriding system value values
  ('ec7f4758-2bdc-45c7-a3b8-27ce39d6985a', E'\\xda76ac3bcde36464fd46f6225abc011ab4b1c3524fe7bfa44644e45957d0d6b1', '2026-11-23 08:01:28.499904+00', '2026-11-23 08:02:28.499904+00');
insert into tombstone_key (is_only, inner_pad, outer_pad) overriding system value values
  ('true', E'\\x6dc3248f1e0a0b2a16d8f4c4754329480eb4dc4790141051fe598f27f823b0653636363636363636363636363636363636363636363636363636363636363636', E'\\x07a94ee5746061407cb29eae1f29432264deb62dfa7e7a3b9433e54d9249da0f5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c');
insert into unknown_area_seen (tenant_id, term, count, first_at, last_at) overriding system value values
  ('1', 'moat', '1', '2026-11-23 08:01:28.469727+00', '2026-11-23 08:01:28.469727+00');
select setval('public.tenant_id_seq', 3);
select setval('public.campaign_id_seq', 1);
select setval('public.api_key_id_seq', 3);
select setval('public.collision_id_seq', 1);
select setval('public.form_id_seq', 1);
select setval('actions.route_id_seq', 1);
set session_replication_role = origin;
