-- Returns a tenant's routes for operators or, if p_tenant_id is null, all tenants' CRM recipes:
--
-- - reason, since: why and since when the route is suspended; null if it is not. waiting: how many events wait for it among the
--   tenant's first pending ones; waiting_more: whether the tenant has more pending events than were looked at. The suspended
--   routes share p_waiting_max events equally, one each at least.
-- - event_id to settled_at: the last response since the route was set: that to the last try of a suspended route, else the latest
--   one among the newest 200 events of the route's sources. Without p_tenant_id, only those of suspended routes.
-- - done_at: the last success among the same events.
--
-- The service's role cannot read routes. This function returns no address and no secret, only the secrets' names.
--
-- Its cost does not grow with the number of stored or pending events, whatever the statistics say: a session may keep a plan that
-- was made while the tables were empty. "offset 0" makes the planner look effects up by both columns of the key; otherwise, it may
-- scan all effects for each event. Without bitmap scans, it reads the outbox in the index's order and never sorts all rows.
create or replace function route_states(p_tenant_id int, p_waiting_max int)
returns table (
  tenant text, kind text, source text, form text, target text, recipe_version text, secret_names text[], changed_at timestamptz,
  reason text, since timestamptz, waiting int, waiting_more boolean,
  event_id text, state text, status int, answer text, effect_reason text, settled_at timestamptz, done_at timestamptz
)
language sql stable
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $$
  with listed as materialized (
    select
      t.slug, r.*, s.reason, s.since, s.event_id,
      greatest(p_waiting_max / greatest(count(s.reason) over (), 1), 1) as looked_max
    from (
      select r.*, actions.target_of(r) as target from actions.route as r where r.tenant_id = p_tenant_id
      union all
      select r.*, actions.target_of(r) from actions.route as r where p_tenant_id is null and r.credential is not null
    ) as r
    cross join lateral (select t.slug from tenant as t where t.id = r.tenant_id offset 0) as t
    left join lateral (
      select s.reason, s.since, s.event_id from actions.suspension as s
      where s.tenant_id = r.tenant_id and s.route_id = r.id and s.reason is not null offset 0
    ) as s on true
  ),
  newest as materialized (
    select k.label, n.event_id
    from api_key as k
    cross join lateral (
      select e.event_id from event as e
      -- Compares and sorts rows, because the planner may scan all events for key_id = k.id.
      where (e.key_id, e.event_id) >= (k.id, '') and (e.key_id, e.event_id) < (k.id + 1, '')
      order by e.key_id desc, e.event_id desc limit 200
    ) as n
    where k.tenant_id = p_tenant_id and p_tenant_id is not null
  )
  select
    r.slug, r.kind, r.source, r.form, r.target, r.recipe_version,
    array(select json_object_keys(r.secrets)), r.changed_at,
    r.reason, r.since, least(w.waiting, r.looked_max)::int, w.looked > r.looked_max,
    x.event_id, x.state, x.status, x.answer, x.reason, x.settled_at, l.done_at
  from listed as r
  cross join lateral (
    select count(e.waits) as waiting, count(*) as looked
    from (
      select o.event_id from outbox as o
      where o.tenant_id = r.tenant_id and r.reason is not null
      order by o.due_at limit r.looked_max + 1
    ) as o
    left join lateral (
      select true as waits from actions.effect as e
      where e.event_id = o.event_id and e.route_id = r.id and not e.is_done and not e.is_refused offset 0
    ) as e on true
  ) as w
  left join lateral (
    select
      (array_agg(n.event_id order by n.event_id = r.event_id desc nulls last, e.settled_at desc))[1] as event_id,
      max(e.settled_at) filter (where e.is_done) as done_at
    from (
      (select n.event_id from newest as n where r.source in ('', n.label) order by n.event_id desc limit 200)
      union all
      select r.event_id
    ) as n
    cross join lateral (
      select e.settled_at, e.is_done from actions.effect as e
      where e.event_id = n.event_id and e.route_id = r.id and e.settled_at >= r.changed_at and e.marked_by is null offset 0
    ) as e
  ) as l on true
  left join lateral (
    select e.event_id, actions.effect_state(e) as state, e.status, e.answer, e.reason, e.settled_at
    from actions.effect as e where e.event_id = l.event_id and e.route_id = r.id offset 0
  ) as x on true
  order by r.slug, r.closeness, r.source, r.form, r.kind, r.id;
$$;
