-- What operators did, by command or on the console's pages. No personal data: the subject is an id, a term or a
-- count, never a name, a number or an address.
--
-- A chain: each row has the digest over the digest of the row before and its own content, so that nobody changes,
-- removes or adds one unseen (functions/append_audit.sql, ctl audit verify).

create table audit (
  -- Numbered by the chain and not by a sequence, so that a number is never left out.
  id bigint primary key,
  at timestamptz not null,
  -- The way he came, ctl or console, and the database role that had logged in.
  actor text not null,
  -- What whoever acted says of himself, and nobody has checked: the client's address, the account of the machine.
  claimed text,
  -- Such as dead.replay, submission.release, area.confirm, person.erase.
  action text not null check (action ~ '^[a-z_]+\.[a-z_]+$'),
  subject text not null,
  -- Counts and the like.
  detail json,
  digest bytea not null check (octet_length(digest) = 32)
);
create index audit_at on audit (at desc, id desc);
-- The console shows beside an event, a submission or a term who has done what to it.
create index audit_subject on audit (subject, id);

-- The chain's end. Whoever adds to it locks this row, and nobody else does.
create table audit_head (
  is_only boolean primary key default true check (is_only),
  id bigint not null,
  -- Empty before the first row.
  digest bytea not null
);
insert into audit_head (id, digest) values (0, '');
