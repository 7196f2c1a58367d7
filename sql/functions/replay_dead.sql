-- Moves dead letters back to the outbox, due at once, and returns the events that were dead. Effects that were refused for good
-- are tried again. The next refusal makes such an event dead again.
create or replace function replay_dead(p_event_id text[]) returns table (event_id text)
language plpgsql
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_replayed text[];
begin
  with removed as (
    delete from dead_letter as d where d.event_id = any(p_event_id) returning d.event_id, d.tenant_id, d.sent_before
  ),
  queued as (
    insert into outbox (event_id, tenant_id, due_at, made, sent_before, is_replay, reason)
    select
      r.event_id, r.tenant_id, service_clock(),
      coalesce((select max(a.number) from attempt as a where a.event_id = r.event_id), 0), r.sent_before,
      true, 'replayed'
    from removed as r
  )
  select coalesce(array_agg(r.event_id order by r.event_id), '{}') into v_replayed from removed as r;

  if cardinality(v_replayed) > 0 then
    update actions.effect as f set is_refused = false where f.event_id = any (v_replayed) and f.is_refused;
    insert into outbox_tally (state, delta)
    values ('pending', cardinality(v_replayed)), ('dead', -cardinality(v_replayed));
    perform notify_outbox('');
  end if;
  return query select unnest(v_replayed);
end
$$;
