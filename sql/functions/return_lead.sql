-- Returns a lead, which credits its cost to its campaign and in the figures, or, if p_reason is null, undoes the return; and
-- audits it. Delivery is unaffected. credit_cents is the credit that was given or taken back.
--
-- Outcome: returned | undone | already (returned before) | not_returned (nothing to undo) | form (a submission, which costs
-- nothing) | erased (no note can be stored, because the content was removed) | unknown.
create or replace function return_lead(
  p_event_id text, p_reason text, p_note text, p_origin text default 'ctl',
  p_claimed text default current_setting('lead_intake.claimed', true)
) returns table (outcome text, credit_cents int)
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_event event;
  v_newest lead_return;
  v_is_returned boolean;
  v_outcome text;
  v_cents int;
begin
  -- Locked so that of two operators only one changes the credit, and no note outlives the content.
  select e.* into v_event from event as e where e.event_id = p_event_id for no key update;
  select r.* into v_newest from lead_return as r where r.event_id = p_event_id order by r.id desc limit 1;
  v_is_returned := v_newest.id is not null and v_newest.undoes is null;
  v_outcome := case
    when v_event.event_id is null then 'unknown'
    when v_event.kind = 'form' then 'form'
    when p_reason is null then case when v_is_returned then 'undone' else 'not_returned' end
    when v_is_returned then 'already'
    when p_note is not null and v_event.removed_at is not null then 'erased'
    else 'returned'
  end;
  v_cents := case v_outcome
    when 'returned' then coalesce(v_event.cost_cents, (v_event.lead ->> 'cost_cents')::int, 0)
    when 'undone' then -v_newest.cents
  end;
  if v_cents is null then
    return query select v_outcome, v_newest.cents;
    return;
  end if;

  insert into lead_return (event_id, key_id, received_at, reason, note, cents, at, by, undoes)
  values (
    v_event.event_id, v_event.key_id, v_event.received_at, p_reason, p_note, v_cents, service_clock(),
    left(coalesce(nullif(p_claimed, ''), p_origin), 200), case when p_reason is null then v_newest.id end
  );
  insert into campaign_charge (campaign_id, cents, credit_cents)
  select k.campaign_id, 0, v_cents from api_key as k
  where k.id = v_event.key_id and k.campaign_id is not null and v_cents <> 0;
  perform append_audit(
    p_origin, p_claimed, case when p_reason is null then 'lead.undo_return' else 'lead.return' end, array[p_event_id],
    json_strip_nulls(json_build_object('reason', p_reason, 'credit_cents', v_cents))
  );
  return query select v_outcome, v_cents;
end
$$;

-- The console's variant; p_claimed is the operator's name.
create or replace function console_return_lead(p_event_id text, p_reason text, p_note text, p_claimed text)
returns table (outcome text, credit_cents int)
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select * from return_lead(p_event_id, p_reason, p_note, 'console', p_claimed) $$;
