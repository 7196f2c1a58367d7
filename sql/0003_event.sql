-- Accepted events and what waits to be delivered.

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
  -- The normalized lead, envelope names, cost as cost_cents. Null after an erasure, like extra and raw.
  lead json,
  -- Text, not json: it keeps \u0000 and every digit as sent.
  extra text,
  raw text
);
create unique index event_dedupe on event (tenant_id, dedupe_space, dedupe_digest);

-- Another lead under a used Idempotency-Key: kept aside for the operator, never delivered.
create table collision (
  id bigint generated always as identity primary key,
  event_id text collate "C" not null references event,
  content_digest uuid not null,
  key_id int not null references api_key,
  count bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  lead json,
  extra text,
  raw text,
  unique (event_id, content_digest)
);

-- One row per event that is not settled yet. It stays narrow and leaves when the event is delivered or dead.
create table outbox (
  event_id text collate "C" primary key,
  tenant_id int not null,
  -- Pending: when it may be sent. Sending: when the lease ends and anybody may claim it again.
  due_at timestamptz not null,
  -- Attempts begun, and those of them that count towards its death; one that is being made counts in both.
  made int not null default 0,
  spent int not null default 0,
  -- Replayed by an operator: the next refusal makes it dead again.
  is_replay boolean not null default false,
  -- The claim that is sending it; null while pending.
  lease uuid,
  -- Why it still waits, in a word.
  reason text
) with (fillfactor = 80);
-- A tenant's rows in the order in which they are due: claims go tenant by tenant.
create index outbox_due on outbox (tenant_id, due_at, event_id);

-- Changes of the number of outbox rows by state: inserted, never updated, so that no two commits meet on a
-- counter's row; folded together now and then (compact_outbox_tally).
create table outbox_tally (
  state text not null check (state in ('pending', 'dead')),
  delta bigint not null
);

-- Refusals leave nothing but these counts.
create table refusal_total (
  day date not null,
  key_id int not null references api_key,
  reason text not null,
  field text not null,
  count bigint not null,
  primary key (day, key_id, reason, field)
);

-- A real write proves that the store takes writes; a process has a slot of its own.
create table heartbeat (
  slot int primary key,
  beat bigint not null default 0
) with (fillfactor = 50);
insert into heartbeat (slot) select generate_series(0, 63);
