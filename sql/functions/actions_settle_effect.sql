-- Records the outcome of an effect and the recipient's response. A success counts even after the lease has ended, unless an
-- operator has restarted the effect; another outcome counts only under the current lease.
--
-- p_outcome: done | failed (to be repeated) | refused (for good) | waiting (not the event's fault); by default, done if
-- p_reason is null, else failed. For a CRM recipe that sent something, p_recipe_tenant is the tenant's slug and p_recipe_changed_at
-- the version of the route; actions.settle_suspension then decides on the outcome. Returns the outcome that was recorded, and after which time a waiting event should be sent again.
create or replace function actions.settle_effect(
  p_event_id text, p_route_id int, p_round int, p_lease uuid, p_reason text, p_status int, p_answer text,
  p_outcome text default null, p_recipe_tenant text default null, p_recipe_changed_at text default null,
  p_headers json default null
)
returns table (outcome text, reason text, wait_ms int)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_removed_at timestamptz;
  v_outcome text := coalesce(p_outcome, case when p_reason is null then 'done' else 'failed' end);
  v_reason text := p_reason;
  v_wait_ms int;
begin
  perform ensure_synchronous_commit();
  -- After an erasure, stores nothing that may quote the lead. Locks the event first, as an erasure does: an erasure then
  -- either waits and removes the response, or has committed. A lock on the effect would not suffice, because an erasure
  -- misses effects that are inserted concurrently.
  if p_answer is not null or p_headers is not null then
    select v.removed_at into v_removed_at from event as v where v.event_id = p_event_id for share;
    if v_removed_at is not null then
      p_answer := null;
      p_headers := null;
    end if;
  end if;
  if p_recipe_tenant is not null then
    select s.outcome, s.reason, s.wait_ms into v_outcome, v_reason, v_wait_ms
    from tenant as t cross join lateral actions.settle_suspension(
      t.id, p_route_id, p_event_id, v_outcome, p_reason, p_recipe_changed_at
    ) as s
    where t.slug = p_recipe_tenant;
  end if;

  update actions.effect as e
  set lease = null, lease_until = null, is_done = p_reason is null, is_refused = v_outcome = 'refused',
    settled_at = service_clock(), reason = v_reason, status = p_status, answer = p_answer, headers = p_headers
  where e.event_id = p_event_id and e.route_id = p_route_id and e.round = p_round and not e.is_done
    and (p_reason is null or e.lease = p_lease);
  return query select v_outcome, v_reason, v_wait_ms;
end
$$;

-- Records what a CRM recipe has finished for an event, under the current lease. After an erasure, stores nothing.
create or replace function actions.save_progress(
  p_event_id text, p_route_id int, p_round int, p_lease uuid, p_progress text
) returns void
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  perform ensure_synchronous_commit();
  -- Locks the event, as settle_effect does.
  perform from event as v where v.event_id = p_event_id and v.removed_at is null for share;
  update actions.effect as e set progress = p_progress
  where e.event_id = p_event_id and e.route_id = p_route_id and e.round = p_round and e.lease = p_lease
    and not exists (select from event as v where v.event_id = p_event_id and v.removed_at is not null);
end
$$;
