-- Removes the content of events that the caller has locked, and the recipients' responses, which may quote the content.
-- Waits while posts are being indexed (fill_search_entry) or logged (add_posts). The digest of an Idempotency-Key stays,
-- so that a late retry is a duplicate; the digest of a content is removed.
create or replace function remove_content(p_event_id text[], p_by text) returns void
language plpgsql
as $$
begin
  perform pg_advisory_xact_lock_shared(4, 0);
  perform pg_advisory_xact_lock_shared(5, 0);
  delete from search_entry as s where s.ref = any (p_event_id);

  update event as e
  set lead = null, extra = null, raw = null, idempotency_key = null, request_id = null, content_digest = null,
    dedupe_digest = case when e.dedupe_space in ('k', 'K') then e.dedupe_digest end,
    cost_cents = coalesce(e.cost_cents, case when e.kind = 'lead' then (e.lead ->> 'cost_cents')::int end),
    removed_at = service_clock(), removed_by = p_by
  where e.event_id = any (p_event_id);

  update post_log as p set request_id = null, idempotency_key = null
  where p.event_id = any (p_event_id) and (p.request_id is not null or p.idempotency_key is not null);

  update submission as s set dismissed_at = service_clock()
  where s.event_id = any (p_event_id) and s.verdict <> 'clean' and s.released_at is null and s.dismissed_at is null;

  perform forget_spam_labels(p_event_id);
  update submission as s set label = null, labelled_at = null
  where s.event_id = any (p_event_id) and s.label is not null;

  update lead_return as r set note = null where r.event_id = any (p_event_id) and r.note is not null;

  -- Updates all effects of the events, to wait for an effect that is being settled.
  update actions.effect as f set reason = null, status = null, headers = null, answer = null, progress = null
  where f.event_id = any (p_event_id);
end
$$;

-- Removes the content of collisions and settles them, and the request ids of their posts from the log. Returns how many were
-- found.
create or replace function remove_collisions(p_id bigint[]) returns int
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_count int;
begin
  perform pg_advisory_xact_lock_shared(4, 0);
  perform pg_advisory_xact_lock_shared(5, 0);
  delete from search_entry as s
  where s.ref = any (array(select collision_ref(c) from collision as c where c.id = any (p_id)));

  update post_log as p set request_id = null
  from collision as c
  where c.id = any (p_id) and p.event_id = c.event_id and p.request_id = c.request_id;

  update collision as c
  set lead = null, extra = null, raw = null, content_digest = null, request_id = null, phone = null, email = null, name = null,
    settled_at = coalesce(c.settled_at, service_clock())
  where c.id = any (p_id);
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
