-- Rolls up at most p_limit past hours and returns how many: first hours that were never rolled up, then those that may
-- have changed, the newest first. A minute after an hour's end, no commit can add events to the hour. Hours with pending,
-- held or dead events are rolled up again, less often with age, because their times to delivery still change.
create or replace function roll_up_hours(p_limit int) returns int
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
  v_now timestamptz := service_clock();
  v_oldest text;
  v_hour timestamptz;
  v_from text;
  v_to text;
  v_count int := 0;
begin
  -- One process at a time.
  if not pg_try_advisory_xact_lock(3, 0) then
    return 0;
  end if;
  select min(e.event_id) into v_oldest from event as e;
  if v_oldest is null then
    return 0;
  end if;
  for v_hour in
    select h.hour
    from generate_series(
      date_trunc('hour', event_id_time(v_oldest), 'UTC'),
      date_trunc('hour', v_now - interval '1 minute', 'UTC') - interval '1 hour',
      interval '1 hour'
    ) as h (hour)
    left join hour_rolled as r on r.hour = h.hour
    where r.hour is null
      or (not r.is_final and r.rolled_at < v_now - greatest(interval '5 minutes', (v_now - r.hour) / 8))
    order by r.hour is not null, h.hour desc
    limit p_limit
  loop
    v_from := event_id_at(v_hour);
    v_to := event_id_at(v_hour + interval '1 hour');
    delete from hour_total as t where t.hour = v_hour;
    insert into hour_total (hour, key_id, accepted, spend_cents, flags, seconds)
    select f.hour, f.key_id, f.accepted, f.spend_cents, f.flags, f.seconds
    from hour_figures(v_hour, v_hour + interval '1 hour') as f;
    insert into hour_rolled as r (hour, rolled_at, is_final)
    values (
      v_hour, v_now,
      not exists (select from outbox as o where o.event_id >= v_from and o.event_id < v_to)
        and not exists (select from dead_letter as d where d.event_id >= v_from and d.event_id < v_to)
        and not exists (
          -- A held submission whose content was removed is never released.
          select from submission as s join event as e on e.event_id = s.event_id
          where s.event_id >= v_from and s.event_id < v_to and s.verdict <> 'clean' and s.released_at is null
            and e.removed_at is null
        )
    )
    on conflict (hour) do update set rolled_at = excluded.rolled_at, is_final = excluded.is_final;
    v_count := v_count + 1;
  end loop;
  return v_count;
end
$$;
