-- The indexes of the operator's search (src/store/operator/search_ways.ts). What they cost the intake is a row of
-- its benchmark.

-- A source's or a tenant's events, newest first.
create index event_key on event (key_id, event_id);

-- An event with a flag is rare enough; one index each (src/contract/fields.ts), so that those without cost nothing.
create index event_flag_phone_unnormalized on event (event_id) where flags @> '{phone_unnormalized}';
create index event_flag_project_area_unknown on event (event_id) where flags @> '{project_area_unknown}';
create index event_flag_project_service_unknown on event (event_id) where flags @> '{project_service_unknown}';
create index event_flag_email_shape_suspect on event (event_id) where flags @> '{email_shape_suspect}';
create index event_flag_extra_fields_preserved on event (event_id) where flags @> '{extra_fields_preserved}';
create index event_flag_country_unrecognized on event (event_id) where flags @> '{country_unrecognized}';

-- People. The first five hex digits of an id are a block of 19 hours: what comes now goes to a few pages at the end of
-- each index, and a search asks block by block. Sorted by the value alone, each lead would change three pages
-- anywhere in a gigabyte, each with a full image in the WAL.
create index event_phone on event (left(event_id, 5), (lead ->> 'phone')) where kind = 'lead';
-- Also of leads without an address, which costs an entry of a null: a predicate on the address would read the lead's
-- JSON a second time (9.3 µs a lead with it, 6.3 without).
create index event_email on event (left(event_id, 5), (lead ->> 'email')) where kind = 'lead';
-- Lower case as far as it is ASCII, and compared by bytes: the same on every server, and it finds how a name begins.
create index event_last_name on event (left(event_id, 5), lower((lead ->> 'last_name') collate "C"))
  where kind = 'lead';
