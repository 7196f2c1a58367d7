-- Heartbeats prove that the store accepts writes and has disk space: because of the fill factor, each row needs its own
-- page, while an update in place would succeed even on a full disk. Nothing reads the rows; trim_heartbeat() keeps the
-- table small.

create table heartbeat (
  -- Identifies the process; not unique.
  slot int not null,
  filler text not null default repeat('-', 450)
) with (fillfactor = 10);
-- The filler is neither compressed nor moved out of line.
alter table heartbeat alter column filler set storage plain;
