-- An event id has 38 hex digits that sort by acceptance: microseconds since 1970 (14), the position in the batch (4), and
-- random digits (20, 80 bits). Only this file and src/contract/event_id.ts define the format.

-- Returns the prefix of the ids of events accepted at a time; before 1970, that of 1970. These and all later ids sort after the
-- prefix.
create or replace function event_id_at(p_at timestamptz) returns text
language sql stable parallel safe
as $$ select lpad(to_hex(greatest((extract(epoch from p_at) * 1000000)::bigint, 0)), 14, '0') collate "C" $$;

-- Returns a new id with a prefix from event_id_at, for a position in its batch (from 1).
create or replace function new_event_id(p_at text, p_place bigint) returns text
language sql volatile parallel safe
-- Leaves out the UUID's version and variant digits.
as $$ select p_at || lpad(to_hex(p_place), 4, '0') || overlay(gen_random_uuid()::text placing '' from 9 for 16) $$;

-- Returns the time at which an event was accepted.
create or replace function event_id_time(p_event_id text) returns timestamptz
language sql immutable parallel safe
as $$ select to_timestamp(('x' || lpad(left(p_event_id, 14), 16, '0'))::bit(64)::bigint / 1000000.0) $$;

-- Returns an event's position in its batch.
create or replace function event_id_place(p_event_id text) returns int
language sql immutable parallel safe
as $$ select ('x' || substr(p_event_id, 15, 4))::bit(16)::int $$;
