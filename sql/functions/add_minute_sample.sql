-- Adds a process's sample for the current minute, and deletes samples that are too old to plot.
create or replace function add_minute_sample(
  p_node text, p_accepted int, p_refused int, p_delivered int, p_failed int, p_died int,
  p_refusals json, p_pending bigint, p_dead bigint, p_oldest_pending_s double precision, p_breaker text
) returns void
language plpgsql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
  -- A constant, as in expire_posts.
  v_now constant timestamptz := service_clock();
begin
  -- Limits what any caller can store: at most 64 codes, and no negative counts.
  if json_typeof(p_refusals) <> 'object'
    or (select count(*) from json_each_text(p_refusals)) > 64
    or exists (
      select from json_each_text(p_refusals) as e
      where e.key !~ '^[a-z0-9_]{1,40}$' or coalesce(e.value, '') !~ '^[0-9]{1,9}$'
    )
  then
    raise exception 'refusals are counts by code' using errcode = 'check_violation';
  end if;

  insert into minute_sample as s
    (at, node, accepted, refused, delivered, failed, died, refusals, pending, dead, oldest_pending_s, breaker)
  values (
    date_trunc('minute', v_now), p_node, p_accepted, p_refused, p_delivered, p_failed, p_died,
    p_refusals, p_pending, p_dead, p_oldest_pending_s, p_breaker
  )
  on conflict (at, node) do update set
    accepted = s.accepted + excluded.accepted, refused = s.refused + excluded.refused,
    delivered = s.delivered + excluded.delivered, failed = s.failed + excluded.failed,
    died = s.died + excluded.died,
    refusals = (
      select coalesce(json_object_agg(b.code, b.count), '{}')
      from (
        select e.key as code, sum(e.value::bigint) as count
        from (select * from json_each_text(s.refusals) union all select * from json_each_text(excluded.refusals)) as e
        group by e.key
      ) as b
    ),
    pending = excluded.pending, dead = excluded.dead, oldest_pending_s = excluded.oldest_pending_s,
    breaker = excluded.breaker;

  delete from minute_sample where at < v_now - interval '31 days';
  delete from minute_sample where at > v_now + interval '31 days';
end
$$;
