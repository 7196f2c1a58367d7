-- Events that wait for delivery, their attempts, and dead letters.

-- One row per unsettled event; narrow, and deleted when the event is delivered or dead.
create table outbox (
  event_id text collate "C" primary key,
  tenant_id int not null,
  -- When it may be sent.
  due_at timestamptz not null,
  -- Attempts begun, and those that count towards the maximum; a current one counts in both.
  made int not null default 0,
  spent int not null default 0,
  -- Attempts made before an operator sent it again, whose outcome no longer matters.
  sent_before int not null default 0,
  -- Replayed by an operator: the next refusal makes it dead again.
  is_replay boolean not null default false,
  -- The claim that is sending it, and until when; null while pending.
  lease uuid,
  lease_until timestamptz,
  -- Why it waits, in a word.
  reason text
  -- A claim changes no indexed column and finds room for the new row version on its page (HOT). Measured: 25 instead
  -- of 31 µs of PostgreSQL per row for claim and settlement, 662 instead of 1,061 bytes of WAL.
) with (fillfactor = 40);
-- A tenant's rows by due time; claims go tenant by tenant.
create index outbox_due on outbox (tenant_id, due_at, event_id);

-- Changes in the number of outbox rows by state. Insert-only, so that commits do not contend for a counter;
-- aggregated by fold_counts.
create table outbox_tally (
  state text not null check (state in ('pending', 'dead')),
  delta bigint not null
);

create table attempt (
  event_id text collate "C" not null,
  number int not null,
  at timestamptz not null,
  -- delivered | refused (the tier answered otherwise) | unreachable (no answer) | lost (the process ended)
  outcome text not null check (outcome in ('delivered', 'refused', 'unreachable', 'lost')),
  -- The HTTP status, where there was one.
  status int,
  -- What the actions service said, in a word or two; never content of a lead.
  reason text,
  duration_ms int,
  -- Whether it counts towards the maximum of attempts.
  spent boolean not null,
  primary key (event_id, number)
);

-- Events given up. They keep their content until an operator replays them.
create table dead_letter (
  event_id text collate "C" primary key,
  tenant_id int not null,
  died_at timestamptz not null,
  reason text,
  -- As in the outbox.
  sent_before int not null default 0
);
create index dead_letter_tenant on dead_letter (tenant_id, event_id);
