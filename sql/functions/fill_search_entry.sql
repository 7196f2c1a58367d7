-- Indexes the events and collisions of up to p_limit batches from search_todo and counts their unknown terms, in one transaction,
-- so that each is in one of the two tables. Returns how many batches; null while another process is indexing, unless p_waits:
-- then it waits, so that all that was committed before the call is indexed. remove_content takes the same lock first, so that
-- removed content is not indexed again.
create or replace function fill_search_entry(p_limit int, p_waits boolean default false) returns int
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_starts text[];
  v_indexed text[];
begin
  if p_waits then
    perform pg_advisory_xact_lock(4, 0);
  elsif not pg_try_advisory_xact_lock(4, 0) then
    return null;
  end if;
  with taken as (
    delete from search_todo as t
    where t.ctid = any (array(select o.ctid from search_todo as o limit p_limit))
    returning t.id_start
  )
  select coalesce(array_agg(t.id_start), '{}') into v_starts from taken as t;

  -- If two batches have the same prefix, one may have been indexed before the other committed. "offset 0" makes the
  -- planner use the index for each batch; otherwise it would scan all rows for each.
  with removed as (
    delete from search_entry as c
    where c.ref = any (array(
      select f.ref
      from unnest(v_starts) as s (id_start)
      cross join lateral (
        select f.ref from search_entry as f
        where f.ref >= s.id_start collate "C" and f.ref < s.id_start || 'g' collate "C"
        offset 0
      ) as f
    ))
    returning c.ref
  )
  select coalesce(array_agg(r.ref), '{}') into v_indexed from removed as r;

  insert into search_entry (
    ref, phone, email, last_name, full_name, external_id, idempotency_key, request_id
  )
  select
    e.ref, search_phone(coalesce(e.phone, l.phone)), coalesce(e.email, l.email),
    lower(coalesce(nullif(split_part(e.name, E'\t', 1), ''), l.last_name) collate "C"),
    lower(coalesce(nullif(split_part(e.name, E'\t', 2), ''), l.first_name || ' ' || l.last_name) collate "C"),
    l.external_id, e.idempotency_key, e.request_id
  from (select distinct s.id_start from unnest(v_starts) as s (id_start)) as s
  cross join lateral (
    select e.event_id as ref, case e.kind when 'lead' then e.lead end as lead, f.phone, f.email, f.name,
      e.idempotency_key, e.request_id
    from event as e
    left join submission as f on e.kind = 'form' and f.event_id = e.event_id
    where e.event_id >= s.id_start collate "C" and e.event_id < s.id_start || 'g' collate "C" and e.lead is not null
    union all
    select collision_ref(c), case when c.form_id is null then c.lead end, c.phone, c.email, c.name, null, c.request_id
    from collision as c
    where c.first_at = event_id_time(s.id_start) and c.lead is not null
    offset 0
  ) as e
  cross join lateral json_to_record(coalesce(e.lead, '{}'))
    as l (phone text, email text, first_name text, last_name text, external_id text)
  order by e.ref;

  perform count_unknown_areas(array(
    select e.event_id
    from (select distinct s.id_start from unnest(v_starts) as s (id_start)) as s
    cross join lateral (
      select e.event_id from event as e
      where e.event_id >= s.id_start collate "C" and e.event_id < s.id_start || 'g' collate "C"
        and e.flags @> '{project_area_unknown}' and e.lead is not null
      offset 0
    ) as e
    where e.event_id <> all (v_indexed)
  ));
  return cardinality(v_starts);
end
$$;

-- Returns a collision's ref, which sorts by the time of its first post among the ids of events.
create or replace function collision_ref(p_collision collision) returns text
language sql stable
as $$ select event_id_at(p_collision.first_at) || '-' || p_collision.id $$;

-- Returns a phone number as the search compares it (src/lead/phone.ts, searchedPhone): +1 and ten digits, or the digits of
-- another number, or a text without digits as it is. An extension and a trunk prefix as in +44 (0)20 are left out.
create or replace function search_phone(p_phone text) returns text
language sql immutable
as $$
  select case
    when p_phone like '+1__________' then p_phone
    when d.digits ~ '^1?[2-9][0-9]{9}$' then '+1' || right(d.digits, 10)
    else coalesce(nullif(d.digits, ''), p_phone)
  end collate "C"
  from (
    select regexp_replace(regexp_replace(regexp_replace(regexp_replace(p_phone,
      '([0-9])[\s,;)]*(?:extension|ext|x|#)[.:=]?\s*[0-9]{1,7}\s*$', '\1', 'i'),
      '([0-9])\s*\(\s*0\s*\)', '\1'),
      '[^0-9]', '', 'g'), '^00', '') as digits
  ) as d
$$;
