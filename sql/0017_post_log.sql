-- The posts with an active key that made no event: duplicates and refused posts, without their content. Deleted after 30
-- days (expire_posts).
create table post_log (
  -- Sorts by the time of the post, like an event's id.
  id text collate "C" primary key,
  -- No foreign keys, as in event.
  key_id int not null,
  at timestamptz not null,
  -- This and idempotency_key become null when the content of the first event is removed, or at an erasure.
  request_id text,
  status smallint not null,
  -- The error code; null for a duplicate.
  error text,
  -- The failing fields and their reasons: {"phone": "required"}.
  fields json,
  idempotency_key text,
  -- The event of which the post is a duplicate.
  event_id text collate "C",
  -- Whether the post has other content than the event whose Idempotency-Key it has: it is counted in a collision.
  is_collision boolean not null,
  check ((error is null) = (event_id is not null)),
  check (event_id is not null or not is_collision)
);
-- No statistics, as in event.
alter table post_log
  alter column request_id set statistics 0,
  alter column idempotency_key set statistics 0;
create index post_log_request_id on post_log (request_id, id) where request_id is not null;
create index post_log_idempotency_key on post_log (idempotency_key, id) where idempotency_key is not null;
create index post_log_event on post_log (event_id, id) where event_id is not null;
create index post_log_key on post_log (key_id, id);

-- How many posts of a key were offered to the log on a day (UTC); only the first 10,000 are logged (add_posts).
create table post_log_day (
  day date not null,
  key_id int not null references api_key,
  offered int not null,
  primary key (day, key_id)
);
