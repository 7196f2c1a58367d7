-- Progress of the job that removes content older than its tenant keeps it (expire_content).

-- A key's events up to after_id are done: their content is removed, or they are in retention_left. So a changed
-- number of days needs no restart.
create table retention_cursor (
  key_id int primary key,
  after_id text collate "C" not null,
  looked_at timestamptz not null
);

-- Expired events that were waiting or dead, to be examined again.
create table retention_left (
  event_id text collate "C" primary key,
  tenant_id int not null,
  look_at timestamptz not null
);
create index retention_left_look on retention_left (look_at);
