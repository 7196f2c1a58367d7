-- What identifies a lead, a submission or a collision to an operator, indexed after the commit (fill_search_entry): indexes
-- on the leads' JSON would cost each commit more than all its other writes.
create table search_entry (
  -- An event's id, or a collision's time and number (collision_ref).
  ref text collate "C" primary key,
  -- As search_phone returns it.
  phone text collate "C",
  email text collate "C",
  -- Names have ASCII letters in lower case and are compared by bytes: the same on every server, and the index finds
  -- prefixes.
  last_name text collate "C",
  full_name text collate "C",
  external_id text collate "C",
  idempotency_key text collate "C",
  request_id text collate "C"
);
-- No statistics, as in event.
alter table search_entry
  alter column phone set statistics 0,
  alter column email set statistics 0,
  alter column last_name set statistics 0,
  alter column full_name set statistics 0,
  alter column external_id set statistics 0,
  alter column idempotency_key set statistics 0,
  alter column request_id set statistics 0;
-- Returns the number of a ref's block, of 2^37 µs (38 hours). Inserts change only the few pages of the latest block in each
-- index, and a search reads the blocks from the newest. If indexed by value alone, each entry changed seven random pages,
-- each with a full image in the WAL, and a prefix of many names had to be sorted by time.
create function search_block(p_ref text) returns int
language sql immutable parallel safe
as $$ select ('x' || left(p_ref, 6))::bit(24)::int >> 5 $$;
create index search_entry_phone on search_entry (search_block(ref), phone) where phone is not null;
create index search_entry_email on search_entry (search_block(ref), email) where email is not null;
create index search_entry_last_name on search_entry (search_block(ref), last_name) where last_name is not null;
create index search_entry_full_name on search_entry (search_block(ref), full_name) where full_name is not null;
create index search_entry_external_id on search_entry (search_block(ref), external_id) where external_id is not null;
create index search_entry_idempotency_key on search_entry (search_block(ref), idempotency_key)
  where idempotency_key is not null;
create index search_entry_request_id on search_entry (search_block(ref), request_id) where request_id is not null;

-- Batches that are not indexed yet, by the prefix of their refs (event_id_at). Two batches in one microsecond share a
-- prefix and have a row each.
create table search_todo (
  id_start text collate "C" not null
);
