-- Labels a clean or released submission as spam, or removes that label, and audits it; delivery is unaffected.
-- p_features is what the label teaches (teach_spam). Outcome: marked | already | held (dismiss it instead) | erased | unknown.
create or replace function mark_spam(
  p_event_id text, p_is_spam boolean, p_features int[] default '{}', p_origin text default 'ctl',
  p_claimed text default current_setting('lead_intake.claimed', true)
) returns text
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_found record;
  v_label text;
begin
  -- Locked so that no label outlives the content.
  select s.*, e.lead is null as is_erased into v_found
  from event as e join submission as s on s.event_id = e.event_id
  where e.event_id = p_event_id for no key update of e;
  if not found then
    return 'unknown';
  elsif v_found.is_erased then
    return 'erased';
  elsif v_found.verdict <> 'clean' and v_found.released_at is null then
    return 'held';
  end if;
  v_label := case when p_is_spam then 'spam' when v_found.released_at is not null then 'ham' end;
  if v_label is not distinct from v_found.label then
    return 'already';
  end if;
  update submission as s set label = v_label, labelled_at = case when v_label is not null then service_clock() end
  where s.event_id = p_event_id;
  -- Without the report, a customer's release teaches the customer's forms again.
  perform teach_spam(
    p_event_id,
    case when not p_is_spam and exists (
      select from audit as a
      where a.subject = p_event_id and a.action = 'submission.release' and starts_with(a.actor, 'digest ')
    ) then v_found.tenant_id else 0 end,
    p_features
  );
  perform append_audit(
    p_origin, p_claimed, case when p_is_spam then 'submission.spam' else 'submission.not_spam' end, array[p_event_id], null
  );
  return 'marked';
end
$$;

-- The console's variant; p_claimed is the operator's name.
create or replace function console_mark_spam(
  p_event_id text, p_is_spam boolean, p_features int[], p_claimed text
) returns text
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select mark_spam(p_event_id, p_is_spam, p_features, 'console', p_claimed) $$;
