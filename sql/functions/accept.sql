-- Stores a batch of posts in one transaction and returns each one's outcome.
--
-- Each call is one transaction. It checks that the key is active, detects duplicates, and inserts the event, outbox row
-- and campaign charge. For a form submission it also inserts the verdict; a held submission gets no outbox
-- row. Each statement sees what was committed before it started (READ COMMITTED): after "insert … on conflict do nothing"
-- has waited for a concurrent insert, the next statement reads that event.
--
-- Batches take locks in one order (dedupe digests, then collisions; each sorted), so that they cannot deadlock. A
-- batch never waits for a key that is being revoked: it commits nothing and returns 'busy' for the key's entries,
-- 'undecided' for the others.
--
-- During an erasure, and for a minute after it, a call without the entries' ages and contacts returns the outcome
-- 'watched'. Entries from the erased person that arrived before the erasure ended are accepted and erased in this
-- transaction: the row stays, a retry is a duplicate, and nothing is delivered. A refusal would make clients retry,
-- which would create a new lead.
--
-- The planner settings are needed because a plan is made once per connection, possibly while the tables are empty, and
-- would then scan whole tables.
create or replace function accept(
  -- Separates the values of a column and, reversed, stands for null; no value contains it. One string per column is
  -- cheaper than an array literal, which needs quoting and escaping. An empty string means that every value in the
  -- column is null.
  p_separator text,
  p_key_id text,
  -- As in event.dedupe_space: 'k' for the Idempotency-Key, 'c' for the content; 'K' and 'C' for forms.
  p_space text,
  p_digest text,
  p_content text,
  p_idempotency_key text,
  p_flags text,          -- comma-separated
  p_lead text,
  p_extra text,
  p_raw text,
  p_cost_cents text,
  p_window_hours int,
  p_node text default '',          -- the committing process, which ignores its own NOTIFY
  p_form_id text default '',       -- this and the next six are null for a lead
  p_verdict text default '',       -- clean | honeypot | spam
  p_score text default '',
  p_reasons text default '',       -- comma-separated
  p_phone text default '',
  p_email text default '',
  p_name text default '',
  p_form_window_minutes int default 0,
  -- Passed only when repeating a call that returned 'watched': milliseconds since each entry's arrival, and its contacts, one per line.
  p_age_ms text default '',
  p_contacts text default '',
  p_request_id text default ''
)
-- One row per entry, in any order, or, if all are accepted, one row with ord 0 and the concatenated ids.
returns table (ord int, outcome text, event_id text, received_at text, flags text)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_null text := reverse(p_separator);
  v_key_id int[] := string_to_array(p_key_id, p_separator, v_null)::int[];
  v_space text[] := string_to_array(p_space, p_separator, v_null);
  v_digest uuid[] := string_to_array(p_digest, p_separator, v_null)::uuid[];
  v_content uuid[] := string_to_array(p_content, p_separator, v_null)::uuid[];
  v_idempotency_key text[] := string_to_array(p_idempotency_key, p_separator, v_null);
  v_flags text[] := string_to_array(p_flags, p_separator, v_null);
  v_lead text[] := string_to_array(p_lead, p_separator, v_null);
  v_extra text[] := string_to_array(p_extra, p_separator, v_null);
  v_raw text[] := string_to_array(p_raw, p_separator, v_null);
  v_cost_cents int[] := string_to_array(p_cost_cents, p_separator, v_null)::int[];
  v_form_id int[] := string_to_array(p_form_id, p_separator, v_null)::int[];
  v_verdict text[] := string_to_array(p_verdict, p_separator, v_null);
  v_score int[] := string_to_array(p_score, p_separator, v_null)::int[];
  v_reasons text[] := string_to_array(p_reasons, p_separator, v_null);
  v_phone text[] := string_to_array(p_phone, p_separator, v_null);
  v_email text[] := string_to_array(p_email, p_separator, v_null);
  v_name text[] := string_to_array(p_name, p_separator, v_null);
  v_age_ms int[] := string_to_array(p_age_ms, p_separator, v_null)::int[];
  v_contacts text[] := string_to_array(p_contacts, p_separator, v_null);
  v_request_id text[] := string_to_array(p_request_id, p_separator, v_null);
  v_now timestamptz;
  v_id_prefix text;
  v_received_at text;
  v_accepted text[];
  v_accepted_ord int[];
  v_all_accepted boolean;
  v_has_forms boolean := cardinality(v_form_id) > 0;
  v_busy int[];
  -- The positions of the entries to erase in this transaction.
  v_erased int[] := '{}';
  -- The number of held submissions among the inserted events.
  v_held int := 0;
begin
  perform ensure_synchronous_commit();
  -- Required for the visibility described above; a function cannot set the isolation level itself.
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'default_transaction_isolation is %; it must be read committed', current_setting('transaction_isolation')
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  -- A revocation takes the same lock exclusively: after it returns, no event posted with the key can commit. Advisory
  -- locks queue fairly, while share locks on a row can starve a revocation. A long-held lock delays only this key's posts.
  select array_agg(k.id) into v_busy
  from (select distinct unnest(v_key_id) as id) as k
  where not pg_try_advisory_xact_lock_shared(1, k.id);
  if v_busy is not null then
    return query
    select b.ord::int, case when b.key_id = any (v_busy) then 'busy' else 'undecided' end, null::text, null::text, null::text
    from unnest(v_key_id) with ordinality as b (key_id, ord);
    return;
  end if;

  -- Must follow the locking: an erasure waits until these locks are released (wait_for_batches).
  if exists (select from tombstone) then
    -- Not p_contacts, which is also empty for a single entry without contacts.
    if p_age_ms = '' then
      return query
      select b.ord, 'watched', null::text, null::text, null::text from generate_subscripts(v_key_id, 1) as b (ord);
      return;
    end if;
    v_erased := array(
      select distinct c.ord::int
      from unnest(v_age_ms, v_contacts) with ordinality as c (age_ms, contacts, ord)
      cross join lateral string_to_table(c.contacts, E'\n') as t (contact)
      join tombstone as s on s.digest = tombstone_digest(t.contact)
      where statement_timestamp() - make_interval(secs => c.age_ms / 1000.0) <= s.posted_until
        -- Otherwise, the clock was set back since the erasure, and the post is a new lead.
        and s.posted_until <= statement_timestamp() + interval '1 minute'
    );
  end if;

  v_now := service_clock();
  v_id_prefix := event_id_at(v_now);
  v_received_at := to_char(v_now at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

  -- An event whose content window has expired loses its digest, and so does one that is further in the future than the
  -- window is long: it was accepted before the clock was set back, and might make new posts duplicates for years.
  if v_space && array['c', 'C'] then
    update event as e set dedupe_digest = null
    from (
      select e.event_id
      from unnest(v_key_id, v_space, v_digest) as b (key_id, space, digest)
      join api_key as k on k.id = b.key_id
      join event as e on e.tenant_id = k.tenant_id and e.dedupe_space = b.space::"char" and e.dedupe_digest = b.digest
      cross join lateral (
        -- At least the published windows, whatever the caller passes.
        select case b.space
          when 'c' then make_interval(hours => greatest(p_window_hours, 24))
          else make_interval(mins => greatest(p_form_window_minutes, 10))
        end
      ) as w (size)
      where b.space in ('c', 'C') and (e.received_at <= v_now - w.size or e.received_at > v_now + w.size)
      order by e.tenant_id, e.dedupe_digest
      for update of e
    ) as expired
    where e.event_id = expired.event_id;
  end if;

  with inserted as (
    insert into event (
      event_id, kind, tenant_id, key_id, received_at, dedupe_space, dedupe_digest, content_digest,
      idempotency_key, request_id, flags, lead, extra, raw
    )
    select
      new_event_id(v_id_prefix, b.ord), case when b.space in ('k', 'c') then 'lead' else 'form' end, k.tenant_id, b.key_id, v_now, b.space::"char", b.digest, b.content,
      b.idempotency_key, b.request_id, coalesce(string_to_array(nullif(b.flags, ''), ','), '{}'), b.lead::json, b.extra, b.raw
    from unnest(
      v_key_id, v_space, v_digest, v_content, v_idempotency_key, v_request_id, v_flags, v_lead, v_extra, v_raw
    ) with ordinality
      as b (key_id, space, digest, content, idempotency_key, request_id, flags, lead, extra, raw, ord)
    join api_key as k on k.id = b.key_id and k.revoked_at is null and k.suspended_at is null
    order by k.tenant_id, b.space, b.digest, b.ord
    on conflict (tenant_id, dedupe_space, dedupe_digest) do nothing
    returning event_id, tenant_id
  ),
  queued as (
    insert into outbox (event_id, tenant_id, due_at)
    select i.event_id, i.tenant_id, v_now from inserted as i
    -- Held submissions are queued when they are released.
    where not v_has_forms
      or coalesce(v_verdict[event_id_place(i.event_id)], 'clean') = 'clean'
  )
  select coalesce(array_agg(i.event_id order by i.event_id), '{}') into v_accepted from inserted as i;
  v_all_accepted := cardinality(v_accepted) = cardinality(v_key_id);
  v_accepted_ord := case
    when v_all_accepted then array(select generate_series(1, cardinality(v_accepted)))
    else array(select event_id_place(w.id) from unnest(v_accepted) with ordinality as w (id, nth) order by w.nth)
  end;

  if v_accepted <> '{}' then
    insert into search_todo (id_start) values (v_id_prefix);
  end if;

  if v_has_forms and v_accepted <> '{}' then
    insert into submission (event_id, tenant_id, form_id, verdict, score, reasons, phone, email, name)
    select
      w.id, k.tenant_id,
      -- Null for another tenant's form, which makes the insert fail.
      (select f.id from form as f where f.id = v_form_id[w.ord] and f.tenant_id = k.tenant_id), v_verdict[w.ord], v_score[w.ord],
      coalesce(string_to_array(nullif(v_reasons[w.ord], ''), ','), '{}'), v_phone[w.ord], v_email[w.ord],
      v_name[w.ord]
    from unnest(v_accepted_ord, v_accepted) as w (ord, id)
    join api_key as k on k.id = v_key_id[w.ord]
    where v_form_id[w.ord] is not null;

    select count(*) into v_held from unnest(v_accepted_ord) as w (ord) where v_verdict[w.ord] <> 'clean';
  end if;

  if cardinality(v_accepted) > v_held then
    insert into outbox_tally (state, delta) values ('pending', cardinality(v_accepted) - v_held);

    if array_remove(v_cost_cents, null) <> '{}' then
      insert into campaign_charge (campaign_id, cents)
      select k.campaign_id, sum(v_cost_cents[w.ord]::lead_cost_cents)
      from unnest(v_accepted_ord) as w (ord)
      join api_key as k on k.id = v_key_id[w.ord]
      where k.campaign_id is not null and v_cost_cents[w.ord] is not null
      group by k.campaign_id;
    end if;

    -- A hint to other processes, only once per batch, because NOTIFY takes a server-wide lock at commit.
    perform notify_outbox(p_node);
  end if;

  if v_erased <> '{}' then
    perform erase_event(w.id, null, '{}') from unnest(v_accepted_ord, v_accepted) as w (ord, id) where w.ord = any (v_erased);
  end if;

  if v_all_accepted then
    return query select 0, 'accepted', array_to_string(v_accepted, ''), v_received_at, null::text;
    return;
  end if;
  return query
  select w.ord, 'accepted', w.id, v_received_at, null::text
  from unnest(v_accepted_ord, v_accepted) as w (ord, id);

  insert into collision as c (
    event_id, content_digest, key_id, request_id, count, first_at, last_at, lead, extra, raw, flags,
    form_id, score, reasons, phone, email, name, other_person
  )
  select distinct on (e.event_id, l.content)
    e.event_id, l.content, l.key_id, v_request_id[l.ord], count(*) over (partition by e.event_id, l.content), v_now, v_now,
    l.lead::json, l.extra, l.raw, coalesce(string_to_array(nullif(l.flags, ''), ','), '{}'),
    (select f.id from form as f where f.id = v_form_id[l.ord] and f.tenant_id = k.tenant_id), v_score[l.ord],
    case when v_form_id[l.ord] is not null then coalesce(string_to_array(nullif(v_reasons[l.ord], ''), ','), '{}') end,
    v_phone[l.ord], v_email[l.ord], v_name[l.ord],
    case
      when t.phone <> t.event_phone or t.email <> t.event_email then true
      -- Whether neither can be compared.
      else coalesce(t.phone = t.event_phone, t.email = t.event_email) is null
    end
  from unnest(v_key_id, v_space, v_digest, v_content, v_flags, v_lead, v_extra, v_raw) with ordinality
    as l (key_id, space, digest, content, flags, lead, extra, raw, ord)
  join api_key as k on k.id = l.key_id and k.revoked_at is null and k.suspended_at is null
  join event as e
    on e.tenant_id = k.tenant_id and e.dedupe_space = l.space::"char" and e.dedupe_digest = l.digest
  left join submission as s on s.event_id = e.event_id
  cross join lateral (
    select
      coalesce(v_phone[l.ord], l.lead::json ->> 'phone') as phone, coalesce(s.phone, e.lead ->> 'phone') as event_phone,
      lower(coalesce(v_email[l.ord], l.lead::json ->> 'email')) as email,
      lower(coalesce(s.email, e.lead ->> 'email')) as event_email
  ) as t
  where l.space in ('k', 'K') and e.content_digest <> l.content and l.ord <> all (v_erased)
  order by e.event_id, l.content, l.ord
  on conflict (event_id, content_digest) do update
    set count = c.count + excluded.count, last_at = excluded.last_at;
  if found and v_accepted = '{}' then
    insert into search_todo (id_start) values (v_id_prefix);
  end if;

  -- The response to a duplicate promises that the original event is durable, but the original transaction's wait
  -- for its commit may have been canceled. A WAL record makes this commit wait for the disk and the standby.
  if cardinality(v_accepted) = 0 then
    perform pg_logical_emit_message(true, 'duplicate', '');
  end if;

  return query
  select
    l.ord::int,
    case
      when k.revoked_at is not null or k.suspended_at is not null then 'revoked'
      when l.space in ('k', 'K') and l.ord <> all (v_erased) and e.content_digest <> l.content then 'collision'
      else 'duplicate'
    end,
    e.event_id,
    to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), array_to_string(e.flags, ',')
  from unnest(v_key_id, v_space, v_digest, v_content) with ordinality as l (key_id, space, digest, content, ord)
  join api_key as k on k.id = l.key_id
  left join event as e
    on e.tenant_id = k.tenant_id and e.dedupe_space = l.space::"char" and e.dedupe_digest = l.digest
      and k.revoked_at is null and k.suspended_at is null
  where l.ord <> all (v_accepted_ord);
end
$$;
