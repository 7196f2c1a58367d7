-- What an erasure and the end of a tenant's retention leave of an event.

-- The cost outlives the lead that it stands in, for the report's spend.
alter table event add column if not exists cost_cents int;
-- When the content went, and by what: erasure | retention. The columns lead, extra, raw, idempotency_key,
-- content_digest and a content window's digest are null from then on. No check: it would read the whole table.
alter table event add column removed_at timestamptz, add column removed_by text;

-- Null once the content has gone: it is made of it.
alter table collision alter column content_digest drop not null;
