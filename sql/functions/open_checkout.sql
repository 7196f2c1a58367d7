-- Stores the provider's session for a checkout. An event about the session may have arrived first and set the state.
create or replace function open_checkout(p_id uuid, p_session_id text, p_session_url text, p_expires_at timestamptz)
returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  update subscription set
    state = case when state = 'opening' then 'open' else state end,
    session_id = p_session_id, session_url = p_session_url, session_expires_at = p_expires_at,
    updated_at = service_clock()
  where id = p_id;
$$;

-- Marks a checkout as failed, so that the same Idempotency-Key starts over.
create or replace function fail_checkout(p_id uuid) returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  update subscription set state = 'failed', updated_at = service_clock() where id = p_id and state = 'opening';
$$;
