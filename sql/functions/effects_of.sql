-- Returns an event's effects for operators, one per recipient: kind, recipient (null if the route was removed or changed
-- later), state (actions.effect_state; busy until busy_until), the last response, and for a marked effect, by whom (as in
-- actions.effect). While the event is pending, also the effects that have not started.
--
-- The service's role cannot read routes; this function returns no address or secret (actions.target_of).
create or replace function effects_of(p_event_id text)
returns table (
  effect text, target text, state text, busy_until timestamptz, status int, headers json, answer text, reason text, attempts int,
  settled_at timestamptz, marked_by text
)
language sql stable
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  select
    coalesce(x.effect, a.kind),
    case when a.changed_at > x.settled_at then null else actions.target_of(a) end,
    actions.effect_state(x),
    x.lease_until, x.status, x.headers, x.answer, x.reason, coalesce(x.attempts, 0), x.settled_at, x.marked_by
  from (
    select e.event_id, e.tenant_id, k.label, coalesce(f.form_key, '') as form_key,
      exists (select from outbox as o where o.event_id = e.event_id) as waits
    from event as e
    join api_key as k on k.id = e.key_id
    left join submission as s on s.event_id = e.event_id
    left join form as f on f.id = s.form_id
    where e.event_id = p_event_id
  ) as e
  cross join lateral (
    select coalesce(x.route_id, r.id) as id
    from (select x.route_id from actions.effect as x where x.event_id = e.event_id) as x
    full join (select r.id from actions.routes_for(e.tenant_id, e.label, e.form_key) as r where e.waits) as r
      on r.id = x.route_id
  ) as i
  left join actions.effect as x on x.event_id = e.event_id and x.route_id = i.id
  left join actions.route as a on a.tenant_id = e.tenant_id and a.id = i.id
  -- Omits effects that were only marked as done when an operator sent the event's other effects again.
  where not coalesce(x.is_done and x.settled_at is null, false)
  order by 1, i.id;
$$;
