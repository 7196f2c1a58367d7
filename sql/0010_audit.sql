-- Operators' actions, by ctl or console. No personal data: the subject is an id, a term or a count.
--
-- A hash chain: each row's digest covers the previous digest and its own content, so that changes, removals and
-- insertions are detected (functions/append_audit.sql, ctl audit verify).

create table audit (
  -- Consecutive, unlike a sequence's, so that a missing row is noticed.
  id bigint primary key,
  at timestamptz not null,
  -- The origin, ctl or console, and the database role that logged in.
  actor text not null,
  -- The actor's own, unverified identity: the client's address, or the account on the machine.
  claimed text,
  -- Such as dead.replay, submission.release, area.confirm, person.erase.
  action text not null check (action ~ '^[a-z_]+\.[a-z_]+$'),
  subject text not null,
  -- Counts and the like.
  detail json,
  digest bytea not null check (octet_length(digest) = 32)
);
create index audit_at on audit (at desc, id desc);
-- The console shows an event's, submission's or term's actions beside it.
create index audit_subject on audit (subject, id);

-- The end of the chain; append_audit locks this row.
create table audit_head (
  is_only boolean primary key default true check (is_only),
  id bigint not null,
  -- Empty before the first row.
  digest bytea not null
);
insert into audit_head (id, digest) values (0, '');
