-- Deletes expired keys, the URLs of expired sessions, unpaid checkouts, and the ids of provider events too old to be
-- resent (the provider resends for up to 30 days). Nothing is deleted before the published times.
create or replace function forget_checkouts(p_remembered_hours int, p_unpaid_days int)
returns void
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
as $$
declare
  -- Constants, as in expire_posts.
  v_now constant timestamptz := service_clock();
  v_unpaid_since constant timestamptz := v_now - make_interval(days => greatest(p_unpaid_days, 40));
begin
  update subscription set key_digest = null, request_digest = null
  where key_digest is not null and created_at <= v_now - make_interval(hours => greatest(p_remembered_hours, 24));

  update subscription set session_url = null
  where session_url is not null and session_expires_at <= v_now - interval '1 hour';

  delete from subscription
  where state in ('opening', 'open', 'expired', 'failed') and created_at <= v_unpaid_since;

  delete from provider_event where received_at <= v_unpaid_since;
end
$$;
