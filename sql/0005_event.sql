-- Accepted events: leads and submissions.

create table event (
  -- Time, position in the batch, 80 random bits: sorts by acceptance, so the index grows at its right edge.
  event_id text collate "C" primary key,
  kind text not null check (kind in ('lead', 'form')),
  -- No foreign keys here and on the outbox: accept() takes both from api_key, whose rows are never deleted, and the
  -- checks would lock the same two rows for every lead.
  tenant_id int not null,
  key_id int not null,
  received_at timestamptz not null,
  -- What makes a later post a duplicate: 'k' the digest of its Idempotency-Key, 'c' of its content; 'K' and 'C' for
  -- forms. The digest is null once a content window has passed.
  dedupe_space "char" not null check (dedupe_space in ('k', 'c', 'K', 'C')),
  dedupe_digest uuid,
  -- Of the normalized content: tells a retry from another lead under the same Idempotency-Key.
  content_digest uuid,
  idempotency_key text,
  flags text[] not null,
  -- The normalized lead, envelope names, cost as cost_cents.
  lead json,
  -- Text, not json: it keeps \u0000 and every digit as sent.
  extra text,
  raw text,
  -- The lead's cost, for reports, once its content is removed; null before.
  cost_cents int,
  -- When and by what (erasure | retention) the content was removed: lead, extra, raw, idempotency_key, content_digest
  -- and a content window's digest are then null (remove_content).
  removed_at timestamptz,
  removed_by text
);
create unique index event_dedupe on event (tenant_id, dedupe_space, dedupe_digest);
-- Reports look for events that lost their content before delivery.
create index event_removed on event (event_id) where removed_at is not null;

-- Another lead under a used Idempotency-Key: kept for the operator, delivered only if accepted as an event of its
-- own.
create table collision (
  id bigint generated always as identity primary key,
  event_id text collate "C" not null references event,
  -- Null once the content, of which it is made, is removed.
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
  -- Phone or email differ from the event's, or neither can be compared: a lead may be lost.
  other_person boolean not null,
  -- When an operator accepted it, as this event, or dismissed it.
  settled_at timestamptz,
  accepted_event_id text collate "C" references event,
  unique (event_id, content_digest),
  check (accepted_event_id is null or settled_at is not null)
);
-- For reports of some days.
create index collision_first_at on collision (first_at);
-- Those that an operator should look at.
create index collision_open on collision (id) where other_person and settled_at is null;
-- From an event to the collision that it was.
create index collision_accepted on collision (accepted_event_id) where accepted_event_id is not null;
