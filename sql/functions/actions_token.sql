-- Reads a credential's access token, or claims its renewal. State: valid; due (claimed by this call until the lease ends; use
-- actions.settle_token); busy (another process renews it). p_refused: an access token that the CRM refused, which does not count
-- as valid.
create or replace function actions.begin_token(p_credential text, p_refused text, p_lease uuid, p_lease_ms int)
returns table (state text, access_token text, refresh_token text, answer text, valid_ms float8)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_token actions.token;
  v_state text := 'due';
begin
  insert into actions.token (credential)
  select r.credential from actions.route as r where r.credential = p_credential limit 1
  on conflict do nothing;
  select t.* into v_token from actions.token as t where t.credential = p_credential for update;
  if v_token.access_token is not null and v_token.access_token is distinct from p_refused
    and coalesce(v_token.expires_at > v_now, true)
  then
    v_state := 'valid';
  elsif v_token.lease_until > v_now and v_token.lease_until <= v_now + make_interval(secs => p_lease_ms / 1000.0) then
    v_state := 'busy';
  else
    update actions.token as t set lease = p_lease, lease_until = v_now + make_interval(secs => p_lease_ms / 1000.0)
    where t.credential = p_credential;
  end if;
  return query select
    v_state, v_token.access_token, v_token.refresh_token, v_token.answer::text,
    extract(epoch from v_token.expires_at - v_now)::float8 * 1000;
end
$$;

-- Ends a renewal. Stores the new tokens, unless p_access_token is null because the renewal failed. A rotated refresh token is on
-- disk when this function returns.
create or replace function actions.settle_token(
  p_credential text, p_lease uuid, p_access_token text, p_refresh_token text, p_answer text, p_valid_ms float8
) returns void
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  perform ensure_synchronous_commit();
  update actions.token as t
  set lease = null, lease_until = null, changed_at = service_clock(),
    access_token = coalesce(p_access_token, t.access_token),
    refresh_token = coalesce(p_refresh_token, t.refresh_token),
    answer = case when p_access_token is null then t.answer else p_answer::json end,
    expires_at = case
      when p_access_token is null then t.expires_at
      else service_clock() + make_interval(secs => p_valid_ms / 1000.0)
    end
  -- New tokens count even after the lease has ended, because the old ones may not be valid any more.
  where t.credential = p_credential and (p_access_token is not null or t.lease = p_lease);
end
$$;
