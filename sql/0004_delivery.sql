-- What became of deliveries: every attempt, and the dead letters.

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
  reason text
);
create index dead_letter_tenant on dead_letter (tenant_id, event_id);
