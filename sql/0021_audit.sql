-- What operators did, by command or on the console's pages. No personal data: the subject is an id, a term or a
-- count, never a name, a number or an address.

create table audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  -- "ctl ROLE" with the database role of whoever ran the command, or "console" with the client's address.
  actor text not null,
  -- Such as dead.replay, submission.release, area.confirm, person.erase.
  action text not null check (action ~ '^[a-z_]+\.[a-z_]+$'),
  subject text not null,
  -- Counts and the like.
  detail json
);
create index audit_at on audit (at desc, id desc);
