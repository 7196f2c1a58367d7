-- Whom a lead names. Filled behind the commit (fill_lead_contact): indexes on the JSON of the leads cost each commit
-- more than all else that it writes. What a submission names stands with the submission.
create table lead_contact (
  event_id text collate "C" primary key,
  phone text collate "C",
  email text collate "C",
  -- Lower case as far as it is ASCII, and compared by bytes: the same on every server, and it finds how a name begins.
  last_name text collate "C"
);
-- The first five hex digits of an id are a block of 19 hours: what comes now goes to a few pages at the end of
-- each index, and a search asks block by block. Sorted by the value alone, each lead would change three pages
-- anywhere in a gigabyte, each with a full image in the WAL.
create index lead_contact_phone on lead_contact (left(event_id, 5), phone) where phone is not null;
create index lead_contact_email on lead_contact (left(event_id, 5), email) where email is not null;
create index lead_contact_last_name on lead_contact (left(event_id, 5), last_name) where last_name is not null;

-- The batches that are not in it yet, by how the ids of their events begin (event_id_at). Two batches of one
-- microsecond begin alike, and each has its row. A search looks through these events themselves.
create table lead_contact_todo (
  id_start text collate "C" not null
);
