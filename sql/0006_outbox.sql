-- What waits to be delivered, and what became of deliveries: every attempt, and the dead letters.

-- One row per event that is not settled yet. It stays narrow and leaves when the event is delivered or dead.
create table outbox (
  event_id text collate "C" primary key,
  tenant_id int not null,
  -- When it may be sent.
  due_at timestamptz not null,
  -- Attempts begun, and those of them that count towards its death; one that is being made counts in both.
  made int not null default 0,
  spent int not null default 0,
  -- The attempts before it was sent again by an operator: what becomes of those is settled.
  sent_before int not null default 0,
  -- Replayed by an operator: the next refusal makes it dead again.
  is_replay boolean not null default false,
  -- The claim that is sending it, and when anybody may claim it again; null while pending.
  lease uuid,
  lease_until timestamptz,
  -- Why it still waits, in a word.
  reason text
  -- A claim changes no column of an index, and finds room for the row's new version on its page: no index gets an entry
  -- then. Measured: 31 µs of PostgreSQL a row with claim and settlement became 25, and 1,061 bytes of WAL 662.
) with (fillfactor = 40);
-- A tenant's rows in the order in which they are due: claims go tenant by tenant.
create index outbox_due on outbox (tenant_id, due_at, event_id);

-- Changes of the number of outbox rows by state: inserted, never updated, so that no two commits meet on a
-- counter's row; folded together now and then (fold_counts).
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
  -- What the tier said of it, in a word or two; never content of a lead.
  reason text,
  duration_ms int,
  -- Whether it counts towards the attempts after which an event is dead.
  spent boolean not null,
  primary key (event_id, number)
);

-- Events that were given up. They keep their payload (the event) until an operator replays them.
create table dead_letter (
  event_id text collate "C" primary key,
  tenant_id int not null,
  died_at timestamptz not null,
  reason text,
  -- As in the outbox, where it came from.
  sent_before int not null default 0
);
create index dead_letter_tenant on dead_letter (tenant_id, event_id);
