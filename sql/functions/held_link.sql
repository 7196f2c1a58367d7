-- What a digest shows of a held submission, and what its link shows and does. The link is signed outside of the database
-- (src/store/serving/held_links.ts); its end is compared here, with the database's clock. Nothing is kept of a link: the
-- submission that it releases can be released once.

-- Whom a submission is from, and the beginning of its longest answer, cut at a word.
create or replace function held_summary(p_event_id text)
returns table (form_key text, sender text, excerpt text)
language sql stable
as $$
  select f.form_key, coalesce(s.email, s.phone, ''), coalesce(case
    when length(v.value) > 200 then regexp_replace(left(v.value, 200), '\s+\S*$', '') || '…' else v.value
  end, '')
  from submission as s
  join event as e on e.event_id = s.event_id
  join form as f on f.id = s.form_id
  left join lateral (
    select v.value from json_each_text(e.lead) as v where v.value is not null order by length(v.value) desc limit 1
  ) as v on true
  where s.event_id = p_event_id
$$;

-- The held submissions of a span that nobody has judged, for the tenant's digest: what may be a person's first. Some of
-- them, and how many more there are.
create or replace function actions.digest_held(p_tenant_id int, p_since timestamptz, p_until timestamptz) returns json
language sql stable
as $$
  with held as materialized (
    select s.event_id, s.verdict, s.score from submission as s
    where s.tenant_id = p_tenant_id and s.verdict <> 'clean' and s.released_at is null and s.dismissed_at is null
      and s.event_id >= event_id_at(p_since) and s.event_id < event_id_at(p_until)
  )
  select json_build_object(
    'listed', (
      select coalesce(json_agg(json_build_object(
        'id', l.event_id, 'form', h.form_key, 'sender', h.sender, 'excerpt', h.excerpt
      ) order by l.rank), '[]')
      from (
        select h.event_id, row_number() over (order by h.verdict = 'honeypot', h.score, h.event_id) as rank
        from held as h order by rank limit 20
      ) as l
      cross join lateral held_summary(l.event_id) as h
    ),
    'more', (select greatest(0, count(*) - 20) from held)
  )
$$;

-- What a link of a digest leads to; no row: it leads nowhere (any more), because its seven days are over, because nobody
-- gets its digest, or because the tenant's digests have no links. state: held | released | dismissed | gone; only of what
-- is held is there more than that.
create or replace function held_link(p_event_id text, p_route_id int, p_expires_s bigint)
returns table (state text, tenant text, form_key text, sender text, excerpt text)
language sql stable
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
as $$
  select x.state, t.name, h.form_key, h.sender, h.excerpt
  from submission as s
  join event as e on e.event_id = s.event_id
  join tenant as t on t.id = s.tenant_id
  join actions.route as r on r.tenant_id = t.id and r.id = p_route_id and r.kind = 'email'
  cross join lateral (
    select case
      when e.lead is null then 'gone' when s.released_at is not null then 'released'
      when s.dismissed_at is not null then 'dismissed' else 'held'
    end
  ) as x (state)
  left join lateral held_summary(s.event_id) as h on x.state = 'held'
  where s.event_id = p_event_id and s.verdict <> 'clean' and t.digest_actions and t.disabled_at is null
    and service_clock() < to_timestamp(p_expires_s)
$$;

-- Releases what a link leads to, when it is held and nobody has judged it, and notes it; p_claimed is the address that
-- the link was used from. Returns the state that it found, "held" for what is released now; null: the link leads nowhere.
create or replace function release_held_link(
  p_event_id text, p_route_id int, p_expires_s bigint, p_claimed text
) returns text
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
as $$
declare
  v_state text;
begin
  -- In the order of an erasure. Nobody judges it between the look and the release.
  perform from event as e where e.event_id = p_event_id for no key update;
  perform from submission as s where s.event_id = p_event_id for no key update;
  v_state := (select l.state from held_link(p_event_id, p_route_id, p_expires_s) as l);
  if v_state = 'held' then
    perform release_submission(p_event_id, 'digest', p_claimed);
  end if;
  return v_state;
end
$$;
