-- The contacts of leads, indexed after the commit (fill_lead_contact): indexes on the leads' JSON would cost each commit
-- more than all its other writes. For submissions, the table submission has columns.
create table lead_contact (
  event_id text collate "C" primary key,
  phone text collate "C",
  email text collate "C",
  -- ASCII letters in lower case, compared by bytes: the same on every server, and the index finds prefixes.
  last_name text collate "C"
);
-- The first five hex digits of an id identify a block of 19 hours: inserts change only the few pages of the latest block
-- in each index, and a search scans block by block. If indexed by value alone, each lead would change three random
-- pages, each with a full image in the WAL.
create index lead_contact_phone on lead_contact (left(event_id, 5), phone) where phone is not null;
create index lead_contact_email on lead_contact (left(event_id, 5), email) where email is not null;
create index lead_contact_last_name on lead_contact (left(event_id, 5), last_name) where last_name is not null;

-- Batches that are not indexed yet, by the prefix of their events' ids (event_id_at). Two batches in one microsecond
-- share a prefix and have a row each. A search scans their events directly.
create table lead_contact_todo (
  id_start text collate "C" not null
);
