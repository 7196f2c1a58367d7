-- Records the outcome of an effect (p_reason is null on success) and the recipient's response. A success counts even
-- after the lease has ended, unless an operator has restarted the effect; a failure counts only under the current lease.
create or replace function actions.settle_effect(
  p_event_id text, p_route_id int, p_round int, p_lease uuid, p_reason text, p_status int, p_answer text
) returns void
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_removed_at timestamptz;
begin
  perform ensure_synchronous_commit();
  -- After an erasure, stores nothing that may quote the lead. Locks the event first, as an erasure does: an erasure then
  -- either waits and removes the response, or has committed. A lock on the effect would not suffice, because an erasure
  -- misses effects that are inserted concurrently.
  if p_answer is not null then
    select v.removed_at into v_removed_at from event as v where v.event_id = p_event_id for share;
    if v_removed_at is not null then
      p_answer := null;
    end if;
  end if;

  update actions.effect as e
  set lease = null, lease_until = null, is_done = p_reason is null, settled_at = service_clock(),
    reason = p_reason, status = p_status, answer = p_answer
  where e.event_id = p_event_id and e.route_id = p_route_id and e.round = p_round and not e.is_done
    and (p_reason is null or e.lease = p_lease);
end
$$;
