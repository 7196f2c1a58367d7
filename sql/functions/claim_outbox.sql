-- Claims due outbox rows under a lease, tenant by tenant, and returns what to send.
--
-- If a row's lease has expired, its process died: the attempt is recorded as lost and counts; after the last attempt,
-- the event becomes a dead letter. A pending row whose attempts exceed a lowered maximum is sent once more.
--
-- A lease that ends later than any can was taken before the clock was set back. It is shortened to end as if it began now,
-- because the event may be being sent.
--
-- Claims no rows of a paused tenant or of a live one without a route, because they would be due again at once. Never
-- returns an event without content.
--
-- p_floor: no row of the tenant is due before this time, as far as the caller knows; without it, a scan reads dead
-- index entries that a long transaction retains. A time in the future, from before the clock was set back, does not count.
-- p_settled: the result of settle_outbox, so that settle_outbox runs first in the same statement.
--
-- Uses "coalesce" and no bitmap scans, because statistics taken while nearly all rows were leased would make the planner
-- read and sort all rows.
create or replace function claim_outbox(
  p_lease uuid,
  p_lease_ms int,
  p_attempts_max int,
  p_tenant_id int[],
  p_floor text[],
  p_limit int[],
  p_settled int default 0
)
returns table (
  event_id text, tenant_id int, due_at_ms float8, number int, spent int, is_replay boolean, is_repeat boolean, kind text, tenant text,
  source text, campaign text, received_at_ms float8, flags text, lead text, extra text
)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_lease_until timestamptz := v_now + make_interval(secs => p_lease_ms / 1000.0);
begin
  perform ensure_synchronous_commit();
  return query
  with found as materialized (
    select o.*, n.slug
    from unnest(p_tenant_id, p_floor::timestamptz[], p_limit) as t (id, since, size)
    join tenant as n on n.id = t.id and n.is_delivering
    cross join lateral (
      select o.ctid as place, o.event_id, o.tenant_id, o.due_at, o.lease, o.lease_until, o.made, o.spent
      from outbox as o
      where o.tenant_id = t.id and o.due_at >= case when t.since <= v_now then t.since else '-infinity' end and o.due_at <= v_now
        and coalesce(o.lease_until <= v_now or o.lease_until > v_lease_until + (v_lease_until - v_now), true)
      order by o.due_at, o.event_id
      limit t.size
      for update skip locked
    ) as o
  ),
  shortened as (
    update outbox as o set lease_until = v_lease_until
    from found as f where o.ctid = f.place and f.lease_until > v_now
  ),
  due as (
    select f.* from found as f where coalesce(f.lease_until <= v_now, true)
  ),
  lost as (
    insert into attempt (event_id, number, at, outcome, spent)
    select d.event_id, d.made, v_now, 'lost', true from due as d where d.lease is not null
    on conflict do nothing
  ),
  died as (
    delete from outbox as o using due as d
    where o.event_id = d.event_id and d.lease is not null and d.spent >= p_attempts_max
    returning o.event_id, o.tenant_id, o.sent_before
  ),
  new_dead_letters as (
    insert into dead_letter (event_id, tenant_id, died_at, reason, sent_before)
    select d.event_id, d.tenant_id, v_now, 'lost', d.sent_before from died as d
  ),
  counted as (
    insert into outbox_tally (state, delta)
    select c.state, c.sign * n.count
    from (select count(*) from died) as n (count), (values ('pending', -1), ('dead', 1)) as c (state, sign)
    where n.count > 0
  ),
  claimed as (
    update outbox as o
    set lease = p_lease, lease_until = v_lease_until,
      made = o.made + 1, spent = o.spent + 1
    from due as d
    where o.ctid = d.place and (d.lease is null or d.spent < p_attempts_max)
    returning o.event_id, o.tenant_id, d.due_at, o.made, o.spent, o.is_replay, d.slug
  )
  select
    c.event_id, c.tenant_id, date_part('epoch', c.due_at) * 1000, c.made, c.spent, c.is_replay,
    c.is_replay and exists (select from attempt as a where a.event_id = c.event_id and a.outcome = 'delivered'), e.kind, c.slug, k.label, m.slug,
    date_part('epoch', e.received_at) * 1000, array_to_string(e.flags, ','),
    e.lead::text, e.extra
  -- Sorts before joining the content, which the sort would copy.
  from (select * from claimed as c order by c.due_at, c.event_id offset 0) as c
  join event as e on e.event_id = c.event_id and e.lead is not null
  join api_key as k on k.id = e.key_id
  left join campaign as m on m.id = k.campaign_id
  order by c.due_at, c.event_id;
end
$$;
