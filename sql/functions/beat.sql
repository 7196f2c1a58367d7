-- One real write, and the figures of GET /healthz with it.
create or replace function beat(p_slot int) returns table (pending bigint, dead bigint)
language sql volatile
as $$
  update heartbeat set beat = beat + 1 where slot = p_slot;
  select
    coalesce(sum(delta) filter (where state = 'pending'), 0)::bigint,
    coalesce(sum(delta) filter (where state = 'dead'), 0)::bigint
  from outbox_tally;
$$;
