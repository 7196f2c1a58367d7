-- Tenants' forms, and the spam verdicts on submissions (SPEC, Tenant forms).

create table form (
  id int generated always as identity primary key,
  tenant_id int not null references tenant,
  -- A URL segment, compared as sent: no character in it may have a second spelling there.
  form_key text not null check (form_key ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
  -- At least one, so that {}, the probe, is always refused.
  required text[] not null check (cardinality(required) > 0 and array_position(required, null) is null),
  -- Submissions with this score or more are held; null: the service's default.
  threshold int check (threshold > 0),
  blocked text[] not null default '{}',
  created_at timestamptz not null default now(),
  -- Since when it answers 404; its submissions stay.
  removed_at timestamptz,
  unique (tenant_id, form_key)
);

-- Complements the submission's event. No foreign keys, as on the outbox.
create table submission (
  event_id text collate "C" primary key,
  tenant_id int not null,
  form_id int not null,
  -- All but clean ones are held: no outbox row until an operator releases them.
  verdict text not null check (verdict in ('clean', 'honeypot', 'spam')),
  score int not null,
  -- Names only.
  reasons text[] not null,
  released_at timestamptz,
  -- Since when nobody needs to judge it: an operator dismissed it, or its content is removed.
  dismissed_at timestamptz,
  -- The operator's label, from which the spam score learns; null again when the content is removed.
  label text check (label in ('ham', 'spam')),
  labelled_at timestamptz,
  -- For the operator's search, from fields named so; null after an erasure. Bounded, because index entries are.
  phone text,
  email text,
  -- Lower case, compared by bytes, so that the index finds prefixes.
  last_name text collate "C",
  check (verdict <> 'clean' or (released_at is null and dismissed_at is null)),
  check ((label is null) = (labelled_at is null))
);
create index submission_phone on submission (phone, event_id) where phone is not null;
create index submission_email on submission (email, event_id) where email is not null;
create index submission_last_name on submission (last_name, event_id) where last_name is not null;
-- Held submissions, newest first, for the search: of all tenants, and of one.
create index submission_held on submission (event_id) where verdict <> 'clean' and released_at is null;
create index submission_held_tenant on submission (tenant_id, event_id)
  where verdict <> 'clean' and released_at is null;
-- Submissions to judge, likely people first.
create index submission_to_judge on submission (score, event_id)
  where verdict <> 'clean' and released_at is null and dismissed_at is null;
create index submission_to_judge_tenant on submission (tenant_id, score, event_id)
  where verdict <> 'clean' and released_at is null and dismissed_at is null;
-- What the spam score learns from, latest first.
create index submission_labelled on submission (labelled_at desc, event_id) where label is not null;

-- What it has learned, in one row: per word, by hash, how wrong the score was about submissions that contain it.
create table spam_lessons (
  id boolean primary key default true check (id),
  -- A digest of the labels that it was learned from.
  learned_from text not null default '',
  hashes int[] not null default '{}',
  ham int[] not null default '{}',
  spam int[] not null default '{}'
);
insert into spam_lessons default values;
