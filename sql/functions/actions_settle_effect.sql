-- Records what became of an effect: done (p_reason null) or why not, and what the other side said. What is done is done,
-- also when the lease has ended meanwhile, but not when an operator has asked for it anew since; a failure counts only
-- from whoever holds the lease.
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
  -- Nothing that may quote a lead is written after its erasure. The event is locked first, as an erasure does: that one
  -- either waits and takes the answer away, or has committed. The effect's row is no such lock: one that was made while
  -- the erasure was at work is none of those that it looks at.
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
