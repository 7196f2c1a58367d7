-- Notes what a process did in the last minute, and forgets what is older than the plots go back.
create or replace function add_minute_sample(
  p_node text, p_accepted int, p_refused int, p_delivered int, p_failed int, p_pending bigint, p_dead bigint,
  p_oldest_pending_s double precision, p_breaker text
) returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  insert into minute_sample as s
    (at, node, accepted, refused, delivered, failed, pending, dead, oldest_pending_s, breaker)
  values (
    date_trunc('minute', service_clock()), p_node, p_accepted, p_refused, p_delivered, p_failed, p_pending, p_dead,
    p_oldest_pending_s, p_breaker
  )
  on conflict (at, node) do update set
    accepted = s.accepted + excluded.accepted, refused = s.refused + excluded.refused,
    delivered = s.delivered + excluded.delivered, failed = s.failed + excluded.failed,
    pending = excluded.pending, dead = excluded.dead, oldest_pending_s = excluded.oldest_pending_s,
    breaker = excluded.breaker;

  delete from minute_sample where at < service_clock() - interval '31 days';
$$;
