-- Heartbeats prove that the store takes writes and has disk space: each row needs a page of its own, because of the
-- fillfactor. An update in place would succeed even on a full disk. Nothing reads the rows; trim_heartbeat() keeps
-- the table small.

create table heartbeat (
  -- Of the process; not unique.
  slot int not null,
  filler text not null default repeat('-', 450)
) with (fillfactor = 10);
-- Neither compressed nor moved out of line.
alter table heartbeat alter column filler set storage plain;
