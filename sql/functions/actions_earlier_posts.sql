-- Returns the event's tenant's posts with the event's phone number, received in the 30 days before it: the latest three, and in
-- more the number of the others. Left out are held submissions, removed content (it has no entry), and posts that are not indexed yet
-- (fill_search_entry); of a number with more than 100 posts of all tenants, those beyond.
--
-- Reads at most 100 entries of at most 20 blocks (search_block), and as many events.
create or replace function actions.earlier_posts(p_event_id text)
returns table (source text, form text, received_at text, more text)
language sql
stable
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
  with this as materialized (
    select e.event_id, e.tenant_id, event_id_at(event_id_time(e.event_id) - interval '30 days') as start,
      search_phone(case e.kind when 'lead' then e.lead ->> 'phone' else s.phone end) as phone
    from event as e left join submission as s on s.event_id = e.event_id
    where e.event_id = p_event_id
  ),
  entry as materialized (
    select c.ref
    from this as t
    cross join lateral generate_series(search_block(t.event_id), search_block(t.start), -1) as b (block)
    cross join lateral (
      select c.ref from search_entry as c
      where search_block(c.ref) = b.block and c.phone = t.phone and c.ref >= t.start and c.ref < t.event_id
      limit 100
    ) as c
    -- Not a text such as "none".
    where t.phone ~ '[0-9]{7}'
    limit 100
  )
  select
    k.label, coalesce(f.form_key, ''), to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    case
      when count(*) over () <= 3 then ''
      when (select count(*) from entry) = 100 then 'at least ' || count(*) over () - 3
      else (count(*) over () - 3)::text
    end
  from this as t
  cross join entry as c
  join event as e on e.event_id = c.ref and e.tenant_id = t.tenant_id
  join api_key as k on k.id = e.key_id
  left join submission as s on s.event_id = e.event_id
  left join form as f on f.id = s.form_id
  where s.verdict is null or s.verdict = 'clean' or s.released_at is not null
  order by e.event_id desc
  limit 3
$$;
