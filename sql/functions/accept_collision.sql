-- Turns a collision into an event from the same tenant, key and source, received now. The first event keeps the
-- Idempotency-Key, and the new event has no dedupe digest, so that retries of either post get the same response as
-- before. Inserts everything that accept would, and an audit row.
--
-- The content moves to the event; the collision retains its digest and count. A submission becomes clean, because an
-- operator has reviewed it.
--
-- Outcome: accepted | already | erased | unknown | busy (an erasure or a revocation of the key is in progress; nothing
-- was changed).
create or replace function accept_collision(
  p_id bigint, p_origin text default 'ctl', p_claimed text default current_setting('lead_intake.claimed', true)
)
returns table (outcome text, event_id text)
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_id text := new_event_id(event_id_at(v_now), 1);
  v_key api_key;
  v_kind text;
  v_one collision;
begin
  select c.* into v_one from collision as c where c.id = p_id for no key update;
  if not found or v_one.lead is null then
    return query
    select case when not found then 'unknown' when v_one.accepted_event_id is null then 'erased' else 'already' end,
      v_one.accepted_event_id;
    return;
  end if;
  select k.* into v_key from api_key as k where k.id = v_one.key_id;
  -- Batches hold the same lock, and an erasure waits for it before it reads events (wait_for_batches). An erasure that
  -- has ended is no obstacle: it scanned the collisions, and its tombstones are for posts that had not been committed.
  if not pg_try_advisory_xact_lock_shared(1, v_key.id)
    or exists (select from tombstone as t where t.posted_until > clock_timestamp())
  then
    return query select 'busy', null::text;
    return;
  end if;

  select e.kind into v_kind from event as e where e.event_id = v_one.event_id;
  insert into event (
    event_id, kind, tenant_id, key_id, received_at, dedupe_space, content_digest, request_id, flags, lead, extra, raw
  )
  values (
    v_id, v_kind, v_key.tenant_id, v_key.id, v_now, case v_kind when 'lead' then 'c' else 'C' end,
    v_one.content_digest, v_one.request_id, v_one.flags, v_one.lead, v_one.extra, v_one.raw
  );
  if v_kind = 'form' then
    insert into submission (event_id, tenant_id, form_id, verdict, score, reasons, phone, email, name)
    values (
      v_id, v_key.tenant_id, v_one.form_id, 'clean', v_one.score, v_one.reasons, v_one.phone, v_one.email,
      v_one.name
    );
  end if;
  insert into search_todo (id_start) values (event_id_at(v_now));
  insert into outbox (event_id, tenant_id, due_at) values (v_id, v_key.tenant_id, v_now);
  insert into outbox_tally (state, delta) values ('pending', 1);

  if v_kind = 'lead' and v_key.campaign_id is not null and v_one.lead ->> 'cost_cents' is not null then
    insert into campaign_charge (campaign_id, cents)
    values (v_key.campaign_id, (v_one.lead ->> 'cost_cents')::lead_cost_cents);
  end if;

  update collision as c
  set settled_at = v_now, accepted_event_id = v_id, lead = null, extra = null, raw = null, request_id = null,
    phone = null, email = null, name = null
  where c.id = p_id;
  perform notify_outbox('');
  perform append_audit(
    p_origin, p_claimed, 'collision.accept', array[v_id, v_one.event_id], json_build_object('collision', p_id)
  );
  return query select 'accepted', v_id;
end
$$;

-- The console's variant; p_claimed is the operator's name.
create or replace function console_accept_collision(p_id bigint, p_claimed text)
returns table (outcome text, event_id text)
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select * from accept_collision(p_id, 'console', p_claimed) $$;
