-- The vocabulary of project_area (SPEC, Vocabulary). A retired term is not published and counts as unknown.

create table area (
  area text primary key,
  status text not null check (status in ('confirmed', 'proposed', 'retired')),
  created_at timestamptz not null default now()
);
create unique index area_folded on area (lower(area));

insert into area (area, status)
select unnest(array[
  'attic', 'backyard', 'basement', 'bathroom', 'bedroom', 'chimney', 'closet', 'crawl space', 'deck',
  'dining room', 'doors', 'driveway', 'electrical', 'exterior', 'fence', 'flooring', 'foundation', 'garage',
  'gutters', 'home office', 'hvac', 'insulation', 'kitchen', 'landscaping', 'laundry room', 'living room',
  'patio', 'plumbing', 'pool', 'porch', 'roof', 'siding', 'solar', 'stairs', 'walls', 'whole home', 'windows'
]), 'confirmed';

-- The terms that callers sent but the vocabulary lacks, counted after the commit (functions/unknown_area.sql).
create table unknown_area (
  tenant_id int not null,
  -- '' counts the leads whose terms exceeded the number of new terms that are kept for a key and day.
  term text collate "C" not null,
  count bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  -- The key that sent the term first, and the day (UTC) on which it was counted.
  key_id int not null,
  counted_on date not null,
  primary key (term, tenant_id)
);
-- No statistics, as in event.
alter table unknown_area alter column term set statistics 0;
-- Finds a key's new terms of a day.
create index unknown_area_key on unknown_area (key_id, counted_on);
-- Finds a tenant's terms that only expired leads used.
create index unknown_area_last_at on unknown_area (tenant_id, last_at);
