-- Held submissions in digests, and the links that release them. Links are signed in src/store/serving/held_links.ts; their
-- expiry is checked here. They are not stored, because a submission can be released only once.

-- Returns a submission's form, its time, and the start of each of its first values, from which the digest and the page of a link
-- find the sender and the message (src/lead/sender.ts).
create or replace function held_summary(p_event_id text)
returns table (form_key text, received_at text, fields json)
language sql stable
as $$
  select f.form_key, to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), coalesce((
    select json_object_agg(v.key, left(v.value, 400))
    from (select * from json_each_text(e.lead) as v where v.value is not null limit 100) as v
  ), '{}')
  from submission as s
  join event as e on e.event_id = s.event_id
  join form as f on f.id = s.form_id
  where s.event_id = p_event_id
$$;

-- Returns a tenant's unreviewed held submissions from a period: the 20 that are the least likely to be spam, and how many
-- more there are.
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
        'id', l.event_id, 'form', h.form_key, 'received_at', h.received_at, 'fields', h.fields
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

-- Returns the submission that a digest's link releases; no row if the link has expired, the tenant's digest no longer goes to the
-- address that the link was sent to (p_address_digest: the first 32 hex digits of its SHA-256), or the tenant is disabled or has
-- no digest_actions. state: held | released | dismissed | gone; only held ones have a summary.
create or replace function held_link(p_event_id text, p_address_digest text, p_expires_s bigint)
returns table (state text, tenant text, time_zone text, form_key text, received_at text, fields json)
language sql stable
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
as $$
  select x.state, t.name, t.time_zone, h.form_key, h.received_at, h.fields
  from submission as s
  join event as e on e.event_id = s.event_id
  join tenant as t on t.id = s.tenant_id
  cross join lateral (
    select case
      when e.lead is null then 'gone' when s.released_at is not null then 'released'
      when s.dismissed_at is not null then 'dismissed' else 'held'
    end
  ) as x (state)
  left join lateral held_summary(s.event_id) as h on x.state = 'held'
  where s.event_id = p_event_id and s.verdict <> 'clean' and t.digest_actions and t.disabled_at is null
    -- A link is valid for a week; one that ends later was signed while a clock was ahead.
    and service_clock() < to_timestamp(p_expires_s) and to_timestamp(p_expires_s) < service_clock() + interval '8 days'
    and exists (
      select from actions.route as r
      where r.tenant_id = t.id and r.kind = 'email' and r.source = '' and r.form = ''
        and left(encode(sha256(convert_to(r.address, 'UTF8')), 'hex'), 32) = p_address_digest
    )
$$;

-- Releases a link's submission if it is held and unreviewed, and audits it; p_features is what the release teaches, p_claimed the
-- client's address. Returns the previous state, or null if the link is not valid.
create or replace function release_held_link(
  p_event_id text, p_address_digest text, p_expires_s bigint, p_features int[], p_claimed text
) returns text
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
as $$
declare
  v_state text;
begin
  -- Locked so that the state cannot change between the check and the release, in the same order as in an erasure.
  perform from event as e where e.event_id = p_event_id for no key update;
  perform from submission as s where s.event_id = p_event_id for no key update;
  v_state := (select l.state from held_link(p_event_id, p_address_digest, p_expires_s) as l);
  if v_state = 'held' then
    perform release_submission(p_event_id, p_features, 'digest', p_claimed);
  end if;
  return v_state;
end
$$;
