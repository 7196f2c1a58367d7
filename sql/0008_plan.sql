-- Subscription plans and sales (SPEC, Plan; DECISIONS, Plans, checkout, site).

create table plan (
  slug text primary key check (slug ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
  -- These columns are extracted from the body, so that queries need not parse it.
  name text not null,
  customer text not null,
  amount_cents int not null check (amount_cents >= 0),
  billing_interval text not null check (billing_interval in ('day', 'week', 'month', 'year')),
  -- The whole plan, without white space between tokens. json keeps numbers and escapes as written, jsonb does not.
  body json not null,
  updated_at timestamptz not null default clock_timestamp()
);

-- One row per checkout, which becomes the subscription when the buyer pays. Contains no personal data, which only the
-- payment provider stores. Unpaid checkouts are deleted after 40 days (forget_checkouts).
create table subscription (
  -- Our reference at the provider (client_reference_id, metadata), and the Idempotency-Key of the call that opens the
  -- session, so that a repeated call returns the same session.
  id uuid primary key default gen_random_uuid(),
  -- The plan's values when the checkout started.
  plan_slug text not null,
  plan_name text not null,
  plan_customer text not null,
  amount_cents int not null check (amount_cents >= 0),
  billing_interval text not null,
  -- opening: being opened at the provider; open: the buyer can pay; expired: the buyer did not pay; failed: the
  -- session could not be opened, or a delayed payment failed. The others are the provider's states.
  state text not null default 'opening' check (state in (
    'opening', 'open', 'expired', 'failed',
    'incomplete', 'incomplete_expired', 'trialing', 'active', 'past_due', 'unpaid', 'paused', 'canceled'
  )),
  -- The time of the event that set the state, on the provider's clock.
  state_event_at timestamptz,
  -- Digests of the caller's Idempotency-Key and of the request sent with it, until the key expires.
  key_digest uuid unique,
  request_digest uuid,
  session_id text unique,
  session_url text,
  session_expires_at timestamptz,
  provider_subscription_id text unique,
  provider_customer_id text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
-- No statistics, as in event.
alter table subscription alter column session_url set statistics 0, alter column session_id set statistics 0;
create index subscription_created on subscription (created_at desc, id);
-- For forget_checkouts.
create index subscription_key on subscription (created_at) where key_digest is not null;
create index subscription_session on subscription (session_expires_at) where session_url is not null;
create index subscription_unpaid on subscription (created_at) where state in ('opening', 'open', 'expired', 'failed');

-- The provider's events that were processed, because the provider may send an event more than once.
create table provider_event (
  event_id text primary key,
  type text not null,
  created_at timestamptz not null,
  received_at timestamptz not null
);
create index provider_event_received on provider_event (received_at);
