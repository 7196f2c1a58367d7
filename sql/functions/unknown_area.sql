-- Counts the unknown terms of leads by tenant and term. Of each key, the first 1,000 new terms of a day (UTC) are kept; the
-- leads with further ones are counted under ''. Called by fill_search_entry, one process at a time and once per lead.
create or replace function count_unknown_areas(p_event_id text[]) returns void
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_day_max constant int := 1000;
  v_day constant date := (service_clock() at time zone 'UTC')::date;
begin
  with sent as materialized (
    select e.tenant_id, e.key_id, e.lead ->> 'project_area' as term, count(*) as count,
      min(e.received_at) as first_at, max(e.received_at) as last_at
    from event as e where e.event_id = any (p_event_id) and e.lead ->> 'project_area' <> ''
    group by 1, 2, 3
  ),
  judged as materialized (
    select s.*, u.term is null as is_new,
      row_number() over (partition by s.key_id, u.term is null order by s.first_at, s.term collate "C") as nth
    from sent as s left join unknown_area as u on u.term = s.term collate "C" and u.tenant_id = s.tenant_id
  ),
  kept as materialized (
    select k.key_id, (select count(*) from unknown_area as u where u.key_id = k.key_id and u.counted_on = v_day) as count
    from (select distinct j.key_id from judged as j where j.is_new) as k
  )
  insert into unknown_area as u (tenant_id, term, count, first_at, last_at, key_id, counted_on)
  select t.tenant_id, t.term, sum(t.count), min(t.first_at), max(t.last_at), min(t.key_id), v_day
  from (
    select j.tenant_id, j.key_id, j.count, j.first_at, j.last_at,
      case when j.is_new and k.count + j.nth > v_day_max then '' else j.term end as term
    from judged as j left join kept as k on k.key_id = j.key_id
  ) as t
  group by t.tenant_id, t.term
  on conflict (term, tenant_id) do update
    set count = u.count + excluded.count, first_at = least(u.first_at, excluded.first_at),
      last_at = greatest(u.last_at, excluded.last_at);
end
$$;

-- Takes an erased lead's term back, and removes a term that no other lead has. If the term is kept now but was not when the lead
-- was counted, another lead's count is taken back instead.
create or replace function forget_unknown_area(p_tenant_id int, p_term text) returns void
language plpgsql
as $$
declare
  v_term constant text := case
    when exists (select from unknown_area as u where u.term = p_term collate "C" and u.tenant_id = p_tenant_id) then p_term else ''
  end;
begin
  update unknown_area as u set count = u.count - 1 where u.term = v_term collate "C" and u.tenant_id = p_tenant_id;
  delete from unknown_area as u where u.term = v_term collate "C" and u.tenant_id = p_tenant_id and u.count <= 0;
end
$$;
