-- Queues a held submission for delivery and audits it; p_features is what its label teaches (teach_spam): the customer's own forms
-- if a digest's link released it, otherwise all forms. Outcome: released | already (released before) | clean (never held)
-- | erased | unknown.
create or replace function release_submission(
  p_event_id text, p_features int[] default '{}', p_origin text default 'ctl',
  p_claimed text default current_setting('lead_intake.claimed', true)
) returns text
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_tenant_id int;
begin
  -- Locked so that no erasure occurs between this check and the insert into the outbox.
  perform from event as e where e.event_id = p_event_id and e.lead is not null for no key update;
  if found then
    update submission as s set released_at = service_clock(), label = 'ham', labelled_at = service_clock()
    where s.event_id = p_event_id and s.verdict <> 'clean' and s.released_at is null
    returning s.tenant_id into v_tenant_id;
  end if;
  if v_tenant_id is null then
    return coalesce((
      select case when s.verdict = 'clean' then 'clean' when s.released_at is null then 'erased' else 'already' end
      from submission as s where s.event_id = p_event_id
    ), 'unknown');
  end if;

  perform teach_spam(p_event_id, case p_origin when 'digest' then v_tenant_id else 0 end, p_features);
  insert into outbox (event_id, tenant_id, due_at, reason)
  values (p_event_id, v_tenant_id, service_clock(), 'released');
  insert into outbox_tally (state, delta) values ('pending', 1);
  perform notify_outbox('');
  perform append_audit(p_origin, p_claimed, 'submission.release', array[p_event_id], null);
  return 'released';
end
$$;

-- The console's variant; p_claimed is the operator's name.
create or replace function console_release_submission(p_event_id text, p_features int[], p_claimed text) returns text
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select release_submission(p_event_id, p_features, 'console', p_claimed) $$;
