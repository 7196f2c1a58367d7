-- Turns pending events into dead letters with the reason may_repeat, so that nothing is sent before an operator decides
-- (ctl restored). Audits this and returns the events that were pending. Call it while no process delivers, because a send
-- in progress would settle its row.
create or replace function hold_events(p_event_id text[]) returns table (event_id text)
language plpgsql
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_held text[];
begin
  with removed as (
    delete from outbox as o where o.event_id = any (p_event_id)
    returning o.event_id, o.tenant_id, o.sent_before, o.lease, o.made
  ),
  -- Records the attempt in progress as lost, like claim_outbox for an expired lease.
  lost as (
    insert into attempt (event_id, number, at, outcome, spent)
    select g.event_id, g.made, service_clock(), 'lost', true from removed as g where g.lease is not null
    on conflict do nothing
  ),
  new_dead_letters as (
    insert into dead_letter (event_id, tenant_id, died_at, reason, sent_before)
    select g.event_id, g.tenant_id, service_clock(), 'may_repeat', g.sent_before from removed as g
  )
  select coalesce(array_agg(g.event_id order by g.event_id), '{}') into v_held from removed as g;

  if v_held <> '{}' then
    insert into outbox_tally (state, delta)
    values ('pending', -cardinality(v_held)), ('dead', cardinality(v_held));
    perform append_audit('ctl', current_setting('lead_intake.claimed', true), 'event.hold', v_held, null);
  end if;
  return query select unnest(v_held);
end
$$;
