-- The subscription plans and what was sold of them (SPEC, Plan; DECISIONS, Plans, checkout, site).

create table plan (
  slug text primary key check (slug ~ '^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$'),
  -- Read out of the body, so that nothing has to be parsed to sort, to sell or to list.
  name text not null,
  customer text not null,
  amount_cents int not null check (amount_cents >= 0),
  billing_interval text not null check (billing_interval in ('day', 'week', 'month', 'year')),
  -- The plan as it was put, without the white space between its tokens: unknown members, digits and escapes stay
  -- as they were written, which json keeps and jsonb does not.
  body json not null,
  updated_at timestamptz not null default clock_timestamp()
);

-- One row a checkout that was begun; it becomes the subscription when the buyer pays. No personal data: who the buyer
-- is, the payment provider knows. What was never paid is forgotten after some days (forget_checkouts).
create table subscription (
  -- Our reference at the provider (client_reference_id, metadata), and the Idempotency-Key of the call that opens the
  -- session: a repeated call finds the same session.
  id uuid primary key default gen_random_uuid(),
  -- As they were when the checkout began; the plan may have changed or gone since.
  plan_slug text not null,
  plan_name text not null,
  plan_customer text not null,
  amount_cents int not null check (amount_cents >= 0),
  billing_interval text not null,
  -- opening: the provider is being asked; open: the buyer has an address to pay at; expired: the buyer did not; failed:
  -- it could not be opened, or a payment method that takes days has failed. From incomplete on they are the
  -- provider's own words.
  state text not null default 'opening' check (state in (
    'opening', 'open', 'expired', 'failed',
    'incomplete', 'incomplete_expired', 'trialing', 'active', 'past_due', 'unpaid', 'paused', 'canceled'
  )),
  -- The time, by the provider's clock, of the event that set the state.
  state_event_at timestamptz,
  -- Of the caller's Idempotency-Key, and of the key with what was posted under it, while they are remembered.
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
create index subscription_created on subscription (created_at desc, id);

-- The provider's events that were taken: it delivers at least once.
create table provider_event (
  event_id text primary key,
  type text not null,
  created_at timestamptz not null,
  received_at timestamptz not null
);
create index provider_event_received on provider_event (received_at);
