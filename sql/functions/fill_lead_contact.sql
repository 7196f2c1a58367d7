-- Indexes the contacts of up to p_limit batches from lead_contact_todo, in one transaction, so that a search finds every
-- event through one of the two tables. Returns how many batches; null while another process is indexing. remove_content
-- takes the same lock first, so that removed content is not indexed again.
create or replace function fill_lead_contact(p_limit int) returns int
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
begin
  if not pg_try_advisory_xact_lock(4, 0) then
    return null;
  end if;
  with taken as (
    delete from lead_contact_todo as t
    where t.ctid = any (array(select o.ctid from lead_contact_todo as o limit p_limit))
    returning t.id_start
  )
  select coalesce(array_agg(t.id_start), '{}') into v_starts from taken as t;

  -- If two batches have the same prefix, one may have been indexed before the other committed. "offset 0" makes the
  -- planner use the index for each batch; otherwise it would scan all rows for each.
  delete from lead_contact as c
  where c.event_id = any (array(
    select f.event_id
    from unnest(v_starts) as s (id_start)
    cross join lateral (
      select f.event_id from lead_contact as f
      where f.event_id >= s.id_start collate "C" and f.event_id < s.id_start || 'g' collate "C"
      offset 0
    ) as f
  ));

  insert into lead_contact (event_id, phone, email, last_name)
  select e.event_id, l.phone, l.email, lower(l.last_name collate "C")
  from (select distinct s.id_start from unnest(v_starts) as s (id_start)) as s
  cross join lateral (
    select e.event_id, e.lead from event as e
    where e.event_id >= s.id_start collate "C" and e.event_id < s.id_start || 'g' collate "C"
      and e.kind = 'lead' and e.lead is not null
    offset 0
  ) as e
  cross join lateral json_to_record(e.lead) as l (phone text, email text, last_name text)
  order by e.event_id;
  return cardinality(v_starts);
end
$$;
