-- The data of reports and of the console's plots. No personal data, so it outlives erasures. Counts only grow,
-- whoever calls.

-- Refusals leave only these counts.
create table refusal_total (
  day date not null,
  key_id int not null references api_key,
  reason text not null,
  field text not null,
  count bigint not null check (count > 0),
  primary key (day, key_id, reason, field)
);

-- Duplicates (200 with an earlier event) leave only these counts.
create table duplicate_total (
  day date not null,
  key_id int not null references api_key,
  count bigint not null check (count > 0),
  primary key (day, key_id)
);

-- Events by hour of acceptance (UTC) and key, so that a report of months does not read millions of events
-- (roll_up_hours).
create table hour_total (
  hour timestamptz not null,
  key_id int not null,
  accepted int not null,
  spend_cents bigint not null,
  -- How many have each flag: {"phone_unnormalized": 3}.
  flags json not null,
  -- How many were delivered within which time: {"40": 17}, see hour_figures.
  seconds json not null,
  primary key (hour, key_id)
);
-- The sources' hours, newest first: which one has gone silent.
create index hour_total_key on hour_total (key_id, hour);

-- Which hours hour_total has, also those without an event.
create table hour_rolled (
  hour timestamptz primary key,
  rolled_at timestamptz not null,
  -- Nothing of it waits any more, so what it has will not change.
  is_final boolean not null
);

-- Once a minute from each process: what it did since its sample before, and how things stood.
create table minute_sample (
  at timestamptz not null,
  node text not null,
  accepted int not null,
  refused int not null,
  delivered int not null,
  -- Attempts that failed.
  failed int not null,
  -- Events that were given up.
  died int not null default 0,
  -- Refusals by their code, {"rate_limited": 3}: the codes are the specification's, so there are few.
  refusals json not null default '{}',
  pending bigint not null,
  dead bigint not null,
  -- No more than a plot can show.
  oldest_pending_s double precision not null check (oldest_pending_s >= 0 and oldest_pending_s < 'infinity'),
  breaker text not null check (breaker in ('none', 'closed', 'half_open', 'open')),
  primary key (at, node),
  check (accepted >= 0 and refused >= 0 and delivered >= 0 and failed >= 0 and died >= 0)
);
