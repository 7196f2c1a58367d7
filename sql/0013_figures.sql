-- The data for reports and for the console's plots. It contains no personal data, so it outlives erasures. The checks
-- prevent callers from lowering a count.

-- Counts of refusals by hour (UTC), which leave no other record.
create table refusal_total (
  hour timestamptz not null,
  key_id int not null references api_key,
  reason text not null,
  field text not null,
  count bigint not null check (count > 0),
  primary key (hour, key_id, reason, field)
);
-- Finds exposed keys.
create index refusal_total_exposed on refusal_total (key_id) where reason = 'key_in_url';

-- Counts of duplicates by hour (UTC), which leave no other record.
create table duplicate_total (
  hour timestamptz not null,
  key_id int not null references api_key,
  count bigint not null check (count > 0),
  primary key (hour, key_id)
);

-- Counts of events by hour of acceptance (UTC) and key (roll_up_hours).
create table hour_total (
  hour timestamptz not null,
  key_id int not null,
  accepted int not null,
  spend_cents bigint not null,
  -- Events by flag: {"phone_unnormalized": 3}.
  flags json not null,
  -- Events by the time to delivery: {"40": 17}, see hour_figures.
  seconds json not null,
  primary key (hour, key_id)
);
-- Finds a key's hours, to detect silent sources.
create index hour_total_key on hour_total (key_id, hour);

-- The hours that hour_total covers, including those without an event.
create table hour_rolled (
  hour timestamptz primary key,
  -- When the hour should be rolled up again; null if all its events are settled, so that the totals no longer change.
  again_at timestamptz
);
create index hour_rolled_again on hour_rolled (again_at) where again_at is not null;

-- One row per minute and process: counts since the previous sample, and current values.
create table minute_sample (
  at timestamptz not null,
  node text not null,
  accepted int not null,
  refused int not null,
  delivered int not null,
  -- Failed delivery attempts.
  failed int not null,
  -- Events that became dead letters.
  died int not null default 0,
  -- Refusals by code: {"rate_limited": 3}.
  refusals json not null default '{}',
  pending bigint not null,
  dead bigint not null,
  oldest_pending_s double precision not null check (oldest_pending_s >= 0 and oldest_pending_s < 'infinity'),
  breaker text not null check (breaker in ('none', 'closed', 'half_open', 'open')),
  primary key (at, node),
  check (accepted >= 0 and refused >= 0 and delivered >= 0 and failed >= 0 and died >= 0)
);
