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
  -- The operator's judgement, from which the spam score learns; null again when the content goes.
  label text check (label in ('ham', 'spam')),
  labelled_at timestamptz,
  -- For the operator's search, from the fields whose names say that they hold them; null after an erasure. Their
  -- lengths are bounded, because an index entry's is.
  phone text,
  email text,
  -- Lower case, and compared by bytes, so that the start of a name is found by the index.
  last_name text collate "C",
  check (verdict <> 'clean' or (released_at is null and dismissed_at is null)),
  check ((label is null) = (labelled_at is null))
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
-- What the spam score learns from, the latest first.
create index submission_labelled on submission (labelled_at desc, event_id) where label is not null;

-- What it has learned, in one row: of each word, by its hash, how wrong the score was about the submissions that have it.
create table spam_lessons (
  id boolean primary key default true check (id),
  -- A digest of the labels that it was learned from.
  learned_from text not null default '',
  hashes int[] not null default '{}',
  ham int[] not null default '{}',
  spam int[] not null default '{}'
);
insert into spam_lessons default values;
