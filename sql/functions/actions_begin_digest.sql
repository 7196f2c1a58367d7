-- Claims one recipient's due daily digest and returns its figures; no row if none is due. The figures contain only
-- numbers, source labels and, for a tenant with digest_actions, the result of digest_held.
--
-- For each email recipient of an enabled tenant's route for all events, a digest is due daily at digest_at, for the
-- first time after this function has first seen the recipient. A missed digest is sent once, late, and covers the time
-- since the previous digest, at most a week; while the tenant or its email is paused, no digest is sent. Settle the
-- lease with actions.settle_digest.
--
-- A digest covers whole hours up to the last one that ended before the digest was due, from the rollup (roll_up_hours),
-- for which it waits up to 15 minutes. Held submissions are counted separately; a source from which nothing else was
-- received is silent. The counts of collisions and of pending, held and dead events stop at 10,001.
create or replace function actions.begin_digest(p_lease uuid, p_lease_ms int)
returns table (
  tenant_id int, route_id int, tenant text, name text, time_zone text, address text,
  since text, until text, is_behind boolean, figures json
)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_lease constant interval := make_interval(secs => p_lease_ms / 1000.0);
  v_due record;
  v_end timestamptz;
  v_since timestamptz;
  v_until timestamptz;
  v_iso constant text := 'YYYY-MM-DD"T"HH24:MI:SS"Z"';
begin
  delete from actions.digest as d
  where not exists (
    select from tenant as t where t.id = d.tenant_id and t.digest_at is not null and t.disabled_at is null
  );
  insert into actions.digest (tenant_id, route_id, due_at, covered_until)
  select t.id, r.id, x.due_at, date_trunc('hour', x.due_at, 'UTC')
  from tenant as t
  join actions.route as r on r.tenant_id = t.id and r.kind = 'email' and r.source = '' and r.form = ''
  cross join lateral actions.digest_due(v_now, t.time_zone, t.digest_at) as x (due_at)
  where t.digest_at is not null and t.disabled_at is null and not t.sandbox
    and not exists (select from actions.digest as d where d.tenant_id = t.id and d.route_id = r.id)
  on conflict do nothing;
  -- The clock was set back since these digests were sent; the next ones may cover some hours again.
  update actions.digest as d set due_at = x.due_at, covered_until = date_trunc('hour', x.due_at, 'UTC')
  from tenant as t cross join lateral actions.digest_due(v_now, t.time_zone, t.digest_at) as x (due_at)
  where t.id = d.tenant_id and d.due_at > v_now;
  -- As in claim_outbox.
  update actions.digest as d set lease_until = v_now + v_lease where d.lease_until > v_now + 2 * v_lease;

  select d.*, x.due_at as now_due_at, t.slug, t.name, t.time_zone, t.digest_actions, r.address,
    exists (select from hour_rolled as h where h.hour = date_trunc('hour', x.due_at, 'UTC') - interval '1 hour') as is_rolled
  into v_due
  from actions.digest as d
  join tenant as t on t.id = d.tenant_id
  join actions.route as r on r.tenant_id = d.tenant_id and r.id = d.route_id
  cross join lateral actions.digest_due(v_now, t.time_zone, t.digest_at) as x (due_at)
  where x.due_at > d.due_at and not actions.is_paused(t, 'email')
    and (d.lease is null or d.lease_until <= v_now)
    -- A pause that ends later than any can began before the clock was set back.
    and (d.next_at <= v_now or d.next_at > v_now + interval '1 hour' or d.trying_at is distinct from x.due_at)
    and (
      v_now >= x.due_at + interval '15 minutes'
      or exists (select from hour_rolled as h where h.hour = date_trunc('hour', x.due_at, 'UTC') - interval '1 hour')
    )
  order by x.due_at, d.tenant_id, d.route_id
  limit 1
  for update of d skip locked;
  if not found then
    return;
  end if;

  v_end := date_trunc('hour', v_due.now_due_at, 'UTC');
  v_until := case
    when v_due.is_rolled then v_end
    else coalesce((select max(h.hour) + interval '1 hour' from hour_rolled as h where h.hour < v_end), v_end)
  end;
  v_until := greatest(v_until, v_due.covered_until);
  v_since := greatest(v_due.covered_until, v_until - interval '7 days');
  update actions.digest as d
  set lease = p_lease, lease_until = v_now + v_lease,
    trying_at = v_due.now_due_at, trying_until = v_until,
    attempts = case when d.trying_at = v_due.now_due_at then d.attempts + 1 else 1 end
  where d.tenant_id = v_due.tenant_id and d.route_id = v_due.route_id;

  return query
  with held as materialized (
    select
      -- Looked up one by one, because a join may scan the events of all tenants in this span.
      (select e.key_id from event as e where e.event_id = s.event_id) as key_id,
      date_trunc('hour', event_id_time(s.event_id), 'UTC') as hour, count(*) as count
    from submission as s
    where s.tenant_id = v_due.tenant_id and s.verdict <> 'clean' and s.released_at is null
      and s.event_id >= event_id_at(v_since - interval '7 days') and s.event_id < event_id_at(v_until)
    group by 1, 2
  ),
  -- Held submissions do not count as received.
  hours as (
    select p.key_id, p.hour, greatest(0, sum(p.accepted) - sum(p.held)) as received, sum(p.held) as held,
      sum(p.spend_cents) as spend_cents
    from (
      select h.key_id, h.hour, h.accepted, h.spend_cents, 0 as held
      from api_key as k join hour_total as h on h.key_id = k.id
      where k.tenant_id = v_due.tenant_id and h.hour >= v_since - interval '7 days' and h.hour < v_until
      union all
      select x.key_id, x.hour, 0, 0, x.count from held as x
    ) as p
    group by p.key_id, p.hour
  ),
  source as materialized (
    -- Keys with the same label may have different campaigns.
    select k.label, k.surface, string_agg(distinct m.slug, ', ' order by m.slug) as campaign, bool_or(k.revoked_at is null) as is_active,
      coalesce(sum(h.received) filter (where h.hour >= v_since), 0) as accepted,
      coalesce(sum(h.received) filter (where h.hour >= v_since - (v_until - v_since) and h.hour < v_since), 0) as before,
      coalesce(sum(h.held) filter (where h.hour >= v_since), 0) as held,
      coalesce(sum(h.spend_cents) filter (where h.hour >= v_since), 0) as spend_cents,
      max(h.hour) filter (where h.received > 0) as last_hour
    from api_key as k
    left join hours as h on h.key_id = k.id
    left join campaign as m on m.id = k.campaign_id
    where k.tenant_id = v_due.tenant_id
    group by k.label, k.surface
  )
  select v_due.tenant_id, v_due.route_id, v_due.slug, v_due.name, v_due.time_zone, v_due.address,
    to_char(v_since at time zone 'UTC', v_iso), to_char(v_until at time zone 'UTC', v_iso), v_until < v_end,
    json_build_object(
      'sources', (
        select coalesce(json_agg(s), '[]') from (
          select s.label as source, case s.surface when 'forms' then 'form' else 'lead' end as kind, s.accepted, s.before,
            s.held, s.campaign, s.spend_cents
          from source as s where s.accepted + s.before + s.held > 0
          order by s.accepted desc, s.held desc, s.label limit 50
        ) as s
      ),
      'more_sources', greatest(0, (select count(*) from source as s where s.accepted + s.before + s.held > 0) - 50),
      'leads', (select coalesce(sum(s.accepted), 0) from source as s where s.surface = 'intake'),
      'leads_before', (select coalesce(sum(s.before), 0) from source as s where s.surface = 'intake'),
      'messages', (select coalesce(sum(s.accepted), 0) from source as s where s.surface = 'forms'),
      'messages_before', (select coalesce(sum(s.before), 0) from source as s where s.surface = 'forms'),
      'messages_held', (select coalesce(sum(s.held), 0) from source as s),
      'spend_cents', (select coalesce(sum(s.spend_cents), 0) from source as s),
      'silent', (
        select coalesce(json_agg(s), '[]') from (
          select s.label as source, to_char(s.last_hour at time zone 'UTC', v_iso) as last_hour from source as s
          where s.is_active and s.accepted = 0 and s.last_hour is not null order by s.last_hour desc, s.label limit 20
        ) as s
      ),
      'waiting', w.count,
      'oldest_waiting_s', abs(extract(epoch from v_now - event_id_time(w.oldest)))::bigint,
      'dead', (
        select count(*) from (select from dead_letter as d where d.tenant_id = v_due.tenant_id limit 10001) as d
      ),
      'held', (
        select count(*) from (
          select from submission as s where s.tenant_id = v_due.tenant_id and is_unreviewed(s, 'spam') limit 10001
        ) as s
      ),
      'to_review', case when v_due.digest_actions then actions.digest_held(v_due.tenant_id, v_since, v_until) end,
      'collisions', (
        select count(*) from (
          select from collision as c join api_key as k on k.id = c.key_id
          where k.tenant_id = v_due.tenant_id and c.other_person and c.settled_at is null limit 10001
        ) as c
      )
    )
  from (
    select count(*) as count, min(o.event_id) as oldest
    from (select o.event_id from outbox as o where o.tenant_id = v_due.tenant_id limit 10001) as o
  ) as w;
end
$$;
