-- Tenants' forms, and the spam verdicts on submissions (SPEC, Tenant forms).

create table form (
  id int generated always as identity primary key,
  tenant_id int not null references tenant,
  -- A segment of the URL's path, compared as sent, so no character may need percent-encoding.
  form_key text not null check (form_key ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
  -- The required fields: at least one, so that the body {} is always refused.
  required text[] not null check (cardinality(required) > 0 and array_position(required, null) is null),
  -- The spam score from which submissions are held; null: the service's default.
  threshold int check (threshold > 0),
  blocked text[] not null default '{}',
  created_at timestamptz not null default now(),
  -- When the form was removed: posts to it get 404, its submissions stay.
  removed_at timestamptz,
  unique (tenant_id, form_key)
);

-- Complements the submission's event. There are no foreign keys, as on the outbox.
create table submission (
  event_id text collate "C" primary key,
  tenant_id int not null,
  form_id int not null,
  -- With a verdict other than clean, the submission is held: it has no outbox row until it is released.
  verdict text not null check (verdict in ('clean', 'honeypot', 'spam')),
  score int not null,
  reasons text[] not null,
  released_at timestamptz,
  -- When an operator dismissed the held submission, or its content was removed.
  dismissed_at timestamptz,
  -- The operator's label, from which the spam score learns; null after the content was removed.
  label text check (label in ('ham', 'spam')),
  labelled_at timestamptz,
  -- For the operator's search (fill_search_entry); null after the content was removed. Bounded, as index entries must be.
  phone text,
  email text,
  -- The last name and, after a tab, the full name.
  name text,
  check (verdict <> 'clean' or (released_at is null and dismissed_at is null)),
  check ((label is null) = (labelled_at is null))
);
-- For the search: held submissions of all tenants and of one tenant, newest first.
create index submission_held on submission (event_id) where verdict <> 'clean' and released_at is null;
create index submission_held_tenant on submission (tenant_id, event_id)
  where verdict <> 'clean' and released_at is null;
-- Unreviewed held submissions (is_unreviewed), those that people probably wrote first.
create index submission_to_judge on submission (verdict, score, event_id)
  where verdict <> 'clean' and released_at is null and dismissed_at is null;
create index submission_to_judge_tenant on submission (tenant_id, verdict, score, event_id)
  where verdict <> 'clean' and released_at is null and dismissed_at is null;
-- The submissions from which the spam score learns, latest first.
create index submission_labelled on submission (labelled_at desc, event_id) where label is not null;

-- The spam score's corrections, in one row: for each word's hash, the score's errors on the submissions that contain
-- the word.
create table spam_lessons (
  id boolean primary key default true check (id),
  -- A digest of the labels from which the corrections were learned.
  learned_from text not null default '',
  hashes int[] not null default '{}',
  ham int[] not null default '{}',
  spam int[] not null default '{}'
);
insert into spam_lessons default values;
