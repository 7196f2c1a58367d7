-- Applies an event of the payment provider, once, to its subscription.
--
-- Events arrive in any order. The later one by the provider's clock wins; its resolution is a second, and within one
-- the state further along a subscription's life wins. Final states stay.
--
-- Returns applied, stale (a later event was applied; ids are still stored), unknown (no such subscription) or
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
  v_life constant text[] := array[
    'opening', 'open', 'expired', 'failed', 'incomplete', 'incomplete_expired', 'trialing', 'active', 'past_due',
    'unpaid', 'paused', 'canceled'
  ];
  v_now timestamptz := service_clock();
  v_known subscription;
  v_moves boolean;
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
  -- A copy of a subscription may carry our reference.
  if not found or v_known.provider_subscription_id <> p_subscription_id or v_known.session_id <> p_session_id then
    return 'unknown';
  end if;

  v_moves := case
    when v_known.state in ('canceled', 'incomplete_expired') then false
    -- Only an unpaid one can expire or fail.
    when p_state in ('expired', 'failed') and v_known.state not in ('opening', 'open', 'incomplete') then false
    -- Trials and pauses have zero invoices, which are paid at once.
    when p_type = 'invoice.paid' and v_known.state in ('trialing', 'paused') then false
    when v_known.state_event_at is null or p_created > v_known.state_event_at then true
    when p_created = v_known.state_event_at then
      array_position(v_life, p_state) > array_position(v_life, v_known.state)
    else false
  end;
  update subscription as s set
    state = case when v_moves then p_state else s.state end,
    state_event_at = case when v_moves then p_created else s.state_event_at end,
    session_id = coalesce(s.session_id, p_session_id),
    provider_subscription_id = coalesce(s.provider_subscription_id, p_subscription_id),
    provider_customer_id = coalesce(s.provider_customer_id, p_customer_id),
    updated_at = v_now
  where s.id = v_known.id;
  return case when v_moves then 'applied' else 'stale' end;
end
$$;
