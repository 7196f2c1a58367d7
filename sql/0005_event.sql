-- Accepted events: leads and submissions.

create table event (
  -- Sorts by acceptance (functions/event_id.sql), so the index grows at its right edge.
  event_id text collate "C" primary key,
  kind text not null check (kind in ('lead', 'form')),
  -- Neither these columns nor the outbox have foreign keys: accept() takes both ids from api_key, whose rows are never
  -- deleted, and the checks would lock the same two rows for every lead.
  tenant_id int not null,
  key_id int not null,
  received_at timestamptz not null,
  -- Duplicates have the same digest, of the Idempotency-Key ('k') or the content ('c'); 'K' and 'C' for forms. After
  -- the content window, the digest of the content becomes null.
  dedupe_space "char" not null check (dedupe_space in ('k', 'c', 'K', 'C')),
  dedupe_digest uuid,
  -- The digest of the normalized content. It tells a repeat from a different lead with the same Idempotency-Key.
  content_digest uuid,
  idempotency_key text,
  -- The request id of the post.
  request_id text,
  flags text[] not null,
  -- The normalized lead or submission. In a lead, the cost is the member cost_cents.
  lead json,
  -- The text of a JSON object as sent, including \u0000 and every digit.
  extra text,
  raw text,
  -- The lead's cost, kept for reports after the content was removed.
  cost_cents int,
  -- When and why (erasure | retention) the content was removed. Then lead, extra, raw, idempotency_key, request_id,
  -- content_digest and, for 'c' and 'C', dedupe_digest are null (remove_content).
  removed_at timestamptz,
  removed_by text
);
-- A column with personal data or a secret, here and in the other files, has no statistics: ANALYZE would copy values, which
-- would stay in pg_statistic after their erasure. No plan needs them. A json column has none anyway, because json values cannot
-- be compared.
alter table event
  alter column dedupe_digest set statistics 0,
  alter column content_digest set statistics 0,
  alter column idempotency_key set statistics 0,
  alter column request_id set statistics 0,
  alter column extra set statistics 0,
  alter column raw set statistics 0;
create unique index event_dedupe on event (tenant_id, dedupe_space, dedupe_digest);
-- For reports, which count events whose content was removed before delivery.
create index event_removed on event (event_id) where removed_at is not null;

-- Posts with the Idempotency-Key of an event with other content. They are delivered only if an operator accepts them.
create table collision (
  id bigint generated always as identity primary key,
  event_id text collate "C" not null,
  -- Null after the content was removed.
  content_digest uuid,
  key_id int not null references api_key,
  -- The request id of the first of the posts.
  request_id text,
  count bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  lead json,
  extra text,
  raw text,
  flags text[] not null,
  -- As in submission; null for a lead. The last three, and request_id, become null when the content is moved or
  -- removed.
  form_id int,
  score int,
  reasons text[],
  phone text,
  email text,
  name text,
  -- Whether the phone or email differs from the event's, or neither can be compared, so that a lead may be lost.
  other_person boolean not null,
  -- When an operator accepted (as accepted_event_id) or dismissed the collision, or its content was removed.
  settled_at timestamptz,
  accepted_event_id text collate "C" references event,
  unique (event_id, content_digest),
  check (accepted_event_id is null or settled_at is not null)
);
alter table collision
  alter column content_digest set statistics 0,
  alter column request_id set statistics 0,
  alter column extra set statistics 0,
  alter column raw set statistics 0,
  alter column phone set statistics 0,
  alter column email set statistics 0,
  alter column name set statistics 0;
create index collision_first_at on collision (first_at);
-- Finds the collisions that an operator should settle.
create index collision_open on collision (id) where other_person and settled_at is null;
-- Finds the collision that became an event.
create index collision_accepted on collision (accepted_event_id) where accepted_event_id is not null;

-- Leads that a customer returned. Insert-only: a return credits the lead's cost, and the row that undoes it takes the
-- credit back. The newest row of an event shows whether the lead is returned (functions/return_lead.sql).
create table lead_return (
  id bigint generated always as identity primary key,
  event_id text collate "C" not null,
  -- As in the event, without foreign keys: credits count when the lead was received.
  key_id int not null,
  received_at timestamptz not null,
  reason text check (reason in ('wrong_number', 'duplicate', 'out_of_area', 'not_a_homeowner', 'spam', 'other')),
  -- May name a person; becomes null with the event's content (remove_content).
  note text,
  -- The credit; 0 for a lead without a cost.
  cents int not null,
  at timestamptz not null,
  -- The operator's unverified name, as in audit.claimed.
  by text not null,
  -- The return that this row undoes.
  undoes bigint unique references lead_return,
  check ((reason is null) = (undoes is not null)),
  check (case when undoes is null then cents >= 0 else cents <= 0 end)
);
alter table lead_return
  alter column note set statistics 0,
  alter column by set statistics 0;
create index lead_return_event on lead_return (event_id, id);
create index lead_return_received_at on lead_return (received_at);
