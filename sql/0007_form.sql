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
-- No statistics, as in event.
alter table submission
  alter column phone set statistics 0,
  alter column email set statistics 0,
  alter column name set statistics 0;
-- For the search: held submissions of all tenants and of one tenant, newest first.
create index submission_held on submission (event_id) where verdict <> 'clean' and released_at is null;
create index submission_held_tenant on submission (tenant_id, event_id)
  where verdict <> 'clean' and released_at is null;
-- Unreviewed held submissions (is_unreviewed), those that people probably wrote first.
create index submission_to_judge on submission (verdict, score, event_id)
  where verdict <> 'clean' and released_at is null and dismissed_at is null;
create index submission_to_judge_tenant on submission (tenant_id, verdict, score, event_id)
  where verdict <> 'clean' and released_at is null and dismissed_at is null;
-- The labeled submissions, latest first.
create index submission_labelled on submission (labelled_at desc, event_id) where label is not null;

-- What the labels teach the spam score: the hashes of words in the submission and how wrong its score was, in points. Both are
-- stored with the label, so that learning reads no content.
create table spam_label (
  event_id text collate "C" primary key,
  -- Whose forms learn from it: those of the customer who released the submission with a digest's link, or, with 0, all.
  tenant_id int not null,
  is_spam boolean not null,
  error int not null check (error between 0 and 100),
  -- A digest of the sender's email address or phone number.
  sender uuid not null,
  features int[] not null check (cardinality(features) between 1 and 256),
  labelled_at timestamptz not null
);
-- No statistics, as in event.
alter table spam_label
  alter column sender set statistics 0,
  alter column features set statistics 0;
create index spam_label_tenant on spam_label (tenant_id, labelled_at desc, event_id);

-- The spam score's corrections, learned from the labels (learn_spam): a weight for each word's hash, in thousandths of log-odds.
create table spam_lessons (
  -- As in spam_label.
  tenant_id int primary key,
  -- Whether a label has changed since.
  is_stale boolean not null default true,
  -- Changes with the weights.
  learned_at timestamptz not null default '-infinity',
  hashes int[] not null default '{}',
  weights int[] not null default '{}'
);
-- No statistics, as in event.
alter table spam_lessons
  alter column hashes set statistics 0,
  alter column weights set statistics 0;
create index spam_lessons_stale on spam_lessons (tenant_id) where is_stale;
create index spam_lessons_learned on spam_lessons (learned_at desc, tenant_id);
