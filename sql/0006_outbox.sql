-- Pending events, delivery attempts, and dead letters.

-- One narrow row per unsettled event, deleted when the event is delivered or dead.
create table outbox (
  event_id text collate "C" primary key,
  tenant_id int not null,
  -- The earliest time at which the event may be sent.
  due_at timestamptz not null,
  -- The number of attempts started, and of those that count towards the maximum; both include the current attempt.
  made int not null default 0,
  spent int not null default 0,
  -- The number of attempts made before an operator sent the event again; their outcomes no longer matter.
  sent_before int not null default 0,
  -- Whether an operator replayed the event or sent it again: the next refusal makes it dead.
  is_replay boolean not null default false,
  -- The current claim and when it ends; null while the event is not claimed.
  lease uuid,
  lease_until timestamptz,
  -- The code of the reason why the event is still pending.
  reason text
  -- A claim changes no indexed column, and the fill factor leaves space for the new row version on the same page (HOT).
  -- Measured: claim and settlement take 25 instead of 31 µs and 662 instead of 1,061 bytes of WAL per row.
) with (fillfactor = 40);
-- No statistics, as in event.
alter table outbox alter column reason set statistics 0;
-- Finds a tenant's rows by due time, because rows are claimed tenant by tenant.
create index outbox_due on outbox (tenant_id, due_at, event_id);

-- Changes in the numbers of outbox rows (pending) and dead letters (dead). Insert-only, so that commits do not contend
-- for a counter; aggregated by fold_counts.
create table outbox_tally (
  state text not null check (state in ('pending', 'dead')),
  delta bigint not null
);

create table attempt (
  event_id text collate "C" not null,
  number int not null,
  at timestamptz not null,
  -- delivered | refused (any other status) | unreachable (no response) | lost (the process ended) | marked (an operator marked the
  -- dead letter as done; nothing was sent)
  outcome text not null check (outcome in ('delivered', 'refused', 'unreachable', 'lost', 'marked')),
  -- The HTTP status, if any.
  status int,
  -- The failed effects or the error code; never a lead's content.
  reason text,
  duration_ms int,
  -- Whether the attempt counts towards the maximum.
  spent boolean not null,
  primary key (event_id, number)
);
-- No statistics, as in event.
alter table attempt alter column reason set statistics 0;
-- For reports, which do not count these events as delivered.
create index attempt_marked on attempt (event_id) where outcome = 'marked';

-- Events that are no longer retried; an operator can replay them.
create table dead_letter (
  event_id text collate "C" primary key,
  tenant_id int not null,
  died_at timestamptz not null,
  reason text,
  -- As in the outbox.
  sent_before int not null default 0
);
-- No statistics, as in event.
alter table dead_letter alter column reason set statistics 0;
create index dead_letter_tenant on dead_letter (tenant_id, event_id);
