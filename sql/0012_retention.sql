-- The progress of the job that removes content older than its tenant's retention (expire_content).

-- How far a key's events were examined: up to after_id, their content is removed, or they are in retention_deferred.
create table retention_cursor (
  key_id int primary key,
  after_id text collate "C" not null,
  examined_at timestamptz not null
);

-- Expired events that were pending or dead, to be examined again.
create table retention_deferred (
  event_id text collate "C" primary key,
  tenant_id int not null,
  retry_at timestamptz not null
);
create index retention_deferred_retry on retention_deferred (retry_at);
