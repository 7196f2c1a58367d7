-- Starts a checkout at the plan's current price, or finds the one with the same Idempotency-Key (p_key, which may be
-- null). p_request is a digest of the request that was sent with the key.
--
-- Outcome: begun, again (started earlier but not known to be open: call the provider again with the same id), open,
-- conflict (the key was used with another request), plan_not_found.
create or replace function begin_checkout(p_plan text, p_key uuid, p_request uuid, p_remembered_hours int)
returns table (
  outcome text, id uuid, plan_name text, amount_cents int, billing_interval text, session_id text, session_url text
)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_known subscription;
  v_plan plan;
begin
  perform ensure_synchronous_commit();
  -- Releases a key when it expires, after at least the published 24 hours, or when its session can no longer be paid.
  update subscription as s set key_digest = null, request_digest = null
  where s.key_digest = p_key and (
    s.created_at <= v_now - make_interval(hours => greatest(p_remembered_hours, 24))
    or s.state in ('expired', 'failed')
    or (s.state = 'open' and s.session_expires_at <= v_now)
  );
  loop
    select s.* into v_known from subscription as s where s.key_digest = p_key;
    if found then
      return query select
        case
          when v_known.request_digest <> p_request then 'conflict'
          when v_known.session_url is null then 'again'
          else 'open'
        end,
        v_known.id, v_known.plan_name, v_known.amount_cents, v_known.billing_interval, v_known.session_id,
        v_known.session_url;
      return;
    end if;
    select p.* into v_plan from plan as p where p.slug = p_plan;
    if not found then
      return query select 'plan_not_found', null::uuid, null::text, null::int, null::text, null::text, null::text;
      return;
    end if;
    return query
      insert into subscription as s (
        plan_slug, plan_name, plan_customer, amount_cents, billing_interval, key_digest, request_digest, created_at,
        updated_at
      )
      values (
        v_plan.slug, v_plan.name, v_plan.customer, v_plan.amount_cents, v_plan.billing_interval, p_key, p_request,
        v_now, v_now
      )
      on conflict (key_digest) do nothing
      returning 'begun', s.id, s.plan_name, s.amount_cents, s.billing_interval, s.session_id, s.session_url;
    if found then
      return;
    end if;
    -- A concurrent call with the same key has committed; the loop reads its row.
  end loop;
end
$$;
