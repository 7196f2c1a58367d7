-- Records what became of an effect: done (p_reason null) or why not. What is done is done, also when the lease has
-- ended meanwhile; a failure counts only from whoever holds it.
create or replace function actions.settle_effect(p_event_id text, p_effect text, p_lease uuid, p_reason text)
returns void
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  update actions.effect as e
  set lease = null, lease_until = null, reason = p_reason,
    done_at = case when p_reason is null then service_clock() end
  where e.event_id = p_event_id and e.effect = p_effect and e.done_at is null
    and (p_reason is null or e.lease = p_lease);
end
$$;
