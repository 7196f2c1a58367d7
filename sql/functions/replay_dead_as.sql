-- Puts dead letters back to pending, as replay_dead does, and notes each in the audit in the same transaction, at one
-- time, so that what was done at once is found together. Returns those that were dead.
create or replace function replay_dead_as(p_actor text, p_event_id text[]) returns table (event_id text)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_replayed text[];
begin
  select coalesce(array_agg(r.event_id order by r.event_id), '{}') into v_replayed
  from replay_dead(p_event_id) as r;
  insert into audit (at, actor, action, subject)
  select v_now, p_actor, 'dead.replay', r.id from unnest(v_replayed) with ordinality as r (id, ord) order by r.ord;
  return query select unnest(v_replayed);
end
$$;
