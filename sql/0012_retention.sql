-- How far the job has come that removes content older than its tenant keeps it (expire_content).

-- A key's events up to after_id have been looked at: their content is removed, or they are among retention_left. So
-- nothing has to begin anew when the days change, whichever way.
create table retention_cursor (
  key_id int primary key,
  after_id text collate "C" not null,
  looked_at timestamptz not null
);

-- Events that were due and still waited or were dead: they are looked at again.
create table retention_left (
  event_id text collate "C" primary key,
  tenant_id int not null,
  look_at timestamptz not null
);
create index retention_left_look on retention_left (look_at);
