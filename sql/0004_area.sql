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

-- Terms that callers sent but the vocabulary lacks. Insert-only, so that commits do not contend for a row; aggregated
-- by fold_counts.
create table unknown_area_seen (
  tenant_id int not null,
  term text not null,
  count bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null
);
create view unknown_area as
  select tenant_id, term, sum(count)::bigint as count, min(first_at) as first_at, max(last_at) as last_at
  from unknown_area_seen
  group by tenant_id, term;
