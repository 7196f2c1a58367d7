-- Applies an event from the payment provider to its subscription, at most once.
--
-- Events arrive in any order. The later event by the provider's clock, which has a resolution of a second, wins; within
-- a second, the state that is later in a subscription's life cycle wins. Final states do not change.
--
-- Returns applied, stale (the state was not changed, but new ids are stored), unknown (no such subscription) or
-- duplicate.
create or replace function apply_provider_event(
  p_event_id text, p_type text, p_created timestamptz, p_id uuid, p_session_id text, p_subscription_id text,
  p_customer_id text, p_state text
)
returns text
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
  v_life_cycle constant text[] := array[
    'opening', 'open', 'expired', 'failed', 'incomplete', 'incomplete_expired', 'trialing', 'active', 'past_due',
    'unpaid', 'paused', 'canceled'
  ];
  v_now timestamptz := service_clock();
  v_known subscription;
  v_is_applied boolean;
begin
  perform ensure_synchronous_commit();
  insert into provider_event (event_id, type, created_at, received_at)
  values (p_event_id, p_type, p_created, v_now)
  on conflict (event_id) do nothing;
  if not found then
    return 'duplicate';
  end if;

  select s.* into v_known from subscription as s
  where s.id = p_id or s.session_id = p_session_id or s.provider_subscription_id = p_subscription_id
  order by s.provider_subscription_id = p_subscription_id desc nulls last, s.id = p_id desc nulls last
  limit 1
  for update;
  -- A copy of a subscription may contain our reference.
  if not found or v_known.provider_subscription_id <> p_subscription_id or v_known.session_id <> p_session_id then
    return 'unknown';
  end if;

  v_is_applied := case
    when v_known.state in ('canceled', 'incomplete_expired') then false
    -- Only an unpaid checkout can expire or fail.
    when p_state in ('expired', 'failed') and v_known.state not in ('opening', 'open', 'incomplete') then false
    -- Trials and pauses have invoices for 0, which are paid at once.
    when p_type = 'invoice.paid' and v_known.state in ('trialing', 'paused') then false
    when v_known.state_event_at is null or p_created > v_known.state_event_at then true
    when p_created = v_known.state_event_at then
      array_position(v_life_cycle, p_state) > array_position(v_life_cycle, v_known.state)
    else false
  end;
  update subscription as s set
    state = case when v_is_applied then p_state else s.state end,
    state_event_at = case when v_is_applied then p_created else s.state_event_at end,
    session_id = coalesce(s.session_id, p_session_id),
    provider_subscription_id = coalesce(s.provider_subscription_id, p_subscription_id),
    provider_customer_id = coalesce(s.provider_customer_id, p_customer_id),
    updated_at = v_now
  where s.id = v_known.id;
  return case when v_is_applied then 'applied' else 'stale' end;
end
$$;
