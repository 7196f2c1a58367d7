-- The id of an event, 38 hex digits that sort by the time of acceptance: the microseconds since 1970 (14), the place in
-- its batch (4), and chance (20, which are 80 bits). What it is made of is known here and in src/contract/event_id.ts.

-- How the ids begin of the events that are accepted at a time: they and all later ones come after it.
create or replace function event_id_at(p_at timestamptz) returns text
language sql stable parallel safe
as $$ select lpad(to_hex((extract(epoch from p_at) * 1000000)::bigint), 14, '0') collate "C" $$;

-- An id that begins like p_at (event_id_at), for the event at a place of its batch, counted from 1.
create or replace function new_event_id(p_at text, p_place bigint) returns text
language sql volatile parallel safe
-- The digits of the UUID that say what kind of UUID it is are left out.
as $$ select p_at || lpad(to_hex(p_place), 4, '0') || overlay(gen_random_uuid()::text placing '' from 9 for 16) $$;

-- When an event was accepted.
create or replace function event_id_time(p_event_id text) returns timestamptz
language sql immutable parallel safe
as $$ select to_timestamp(('x' || lpad(left(p_event_id, 14), 16, '0'))::bit(64)::bigint / 1000000.0) $$;

-- Its place in its batch.
create or replace function event_id_place(p_event_id text) returns int
language sql immutable parallel safe
as $$ select ('x' || substr(p_event_id, 15, 4))::bit(16)::int $$;
