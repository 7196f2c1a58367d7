-- What the report and the console's plots are made of. No personal data, so it stays when leads are erased.

-- What a lead cost, beside its content: an erasure leaves it. Null on events from before this column, whose content
-- has it, and where there is no cost.
alter table event add column if not exists cost_cents int;

-- Duplicates leave nothing but these counts: each answer 200 with the event of an earlier post.
create table duplicate_total (
  day date not null,
  key_id int not null references api_key,
  count bigint not null,
  primary key (day, key_id)
);

-- The report asks for the collisions of some days.
create index collision_first_at on collision (first_at);

-- Events by the hour of their acceptance (UTC) and their key, so that a report of months does not read millions of
-- events (roll_up_hour).
create table hour_total (
  hour timestamptz not null,
  key_id int not null,
  accepted int not null,
  spend_cents bigint not null,
  -- How many have each flag: {"phone_unnormalized": 3}.
  flags json not null,
  -- How many were delivered within which time: {"40": 17}, see seconds_bucket.
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
  pending bigint not null,
  dead bigint not null,
  oldest_pending_s double precision not null,
  breaker text not null check (breaker in ('none', 'closed', 'half_open', 'open')),
  primary key (at, node)
);
