-- Dismisses a held submission and audits it; the submission can still be released. p_features is what its label teaches
-- (teach_spam). Outcome: dismissed | already (dismissed or released) | clean (never held) | erased | unknown.
create or replace function dismiss_submission(
  p_event_id text, p_features int[] default '{}', p_origin text default 'ctl',
  p_claimed text default current_setting('lead_intake.claimed', true)
) returns text
language plpgsql
set enable_seqscan = off
set jit = off
as $$
begin
  update submission as s set dismissed_at = service_clock(), label = 'spam', labelled_at = service_clock()
  where s.event_id = p_event_id and s.verdict <> 'clean' and s.released_at is null and s.dismissed_at is null;
  if found then
    perform teach_spam(p_event_id, 0, p_features);
    perform append_audit(p_origin, p_claimed, 'submission.dismiss', array[p_event_id], null);
    return 'dismissed';
  end if;
  return coalesce((
    select case when s.verdict = 'clean' then 'clean' when e.removed_at is not null then 'erased' else 'already' end
    from submission as s join event as e on e.event_id = s.event_id
    where s.event_id = p_event_id
  ), 'unknown');
end
$$;

-- The console's variant; p_claimed is the operator's name.
create or replace function console_dismiss_submission(p_event_id text, p_features int[], p_claimed text) returns text
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select dismiss_submission(p_event_id, p_features, 'console', p_claimed) $$;
