-- The beats, which prove that the store takes writes and has room for them: each is a row, and each row needs a page
-- of its own, because a page counts as full (fillfactor) once it holds one. An update in place would still succeed on
-- a full disk. Nothing reads the rows; trim_heartbeat() keeps the table small.

create table heartbeat (
  -- Of the process; not unique.
  slot int not null,
  filler text not null default repeat('-', 450)
) with (fillfactor = 10);
-- Neither compressed nor moved elsewhere.
alter table heartbeat alter column filler set storage plain;
