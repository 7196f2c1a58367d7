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
