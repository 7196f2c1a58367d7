-- Operators' actions with ctl or the console, and releases by links in digests. Contains no personal data from events:
-- the subject is an id, a slug, a term, a network or a count.
--
-- The rows form a hash chain: each digest covers the previous digest and the row's content, so that changes, removals
-- and insertions are detected (functions/append_audit.sql, ctl audit verify).

create table audit (
  -- Consecutive, unlike a sequence's numbers, so that a missing row is detected.
  id bigint primary key,
  at timestamptz not null,
  -- The origin (ctl, console or digest) and the database role that logged in.
  actor text not null,
  -- The actor's unverified name: the account on the machine for ctl, the name from the proxy for the console, or else console;
  -- for a digest's link, the client's address.
  claimed text,
  -- For example dead.replay or person.erase.
  action text not null check (action ~ '^[a-z_]+\.[a-z_]+$'),
  subject text not null,
  detail json,
  digest bytea not null check (octet_length(digest) = 32)
);
-- No statistics, as in event.
alter table audit alter column claimed set statistics 0;
create index audit_at on audit (at desc, id desc);
-- For the console's pages of an event, a submission or a term.
create index audit_subject on audit (subject, id);

-- The end of the chain; append_audit locks this row.
create table audit_head (
  is_only boolean primary key default true check (is_only),
  id bigint not null,
  -- Empty before the first row.
  digest bytea not null
);
insert into audit_head (id, digest) values (0, '');
