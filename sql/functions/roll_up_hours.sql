-- Rolls up at most p_limit past hours and returns how many: first those of the last 31 days that were never rolled up, the newest
-- first, then those whose figures may have changed (hour_rolled.again_at), then older hours with events. A minute after an hour's
-- end, no commit can add events to the hour. Hours with pending, held or dead events are rolled up again, less often with age,
-- because their times to delivery still change.
create or replace function roll_up_hours(p_limit int) returns int
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
as $$
declare
  v_now timestamptz := service_clock();
  v_end timestamptz := date_trunc('hour', v_now - interval '1 minute', 'UTC');
  v_start timestamptz := v_end - interval '31 days';
  v_first timestamptz;
  v_hours timestamptz[];
  v_hour timestamptz;
  v_from text;
  v_to text;
begin
  -- One process at a time.
  if not pg_try_advisory_xact_lock(3, 0) then
    return 0;
  end if;
  -- If the clock was set back, hours were rolled up before they had passed, and others would wait too long.
  delete from hour_rolled as r where r.hour >= v_end and r.hour < v_end + interval '31 days';
  if found then
    delete from hour_total as t where t.hour >= v_end and t.hour < v_end + interval '31 days';
    update hour_rolled as r set again_at = v_now where r.again_at > v_now + greatest(interval '5 minutes', (v_now - r.hour) / 8);
  end if;

  select date_trunc('hour', event_id_time(min(e.event_id)), 'UTC') into v_first from event as e;
  v_hours := array(
    (
      select h from generate_series(greatest(v_first, v_start), v_end - interval '1 hour', interval '1 hour') as h
      where v_first is not null
      except
      select r.hour from hour_rolled as r where r.hour >= v_start and r.hour < v_end
      order by 1 desc limit p_limit
    )
    union all
    (select r.hour from hour_rolled as r where r.again_at <= v_now order by r.again_at limit p_limit)
    limit p_limit
  );
  if v_hours = '{}' then
    select array_agg(date_trunc('hour', event_id_time(n.event_id), 'UTC')) into v_hours
    from (
      select e.event_id from event as e
      where e.event_id < event_id_at(v_start) and e.event_id >= event_id_at(coalesce(
        (select max(r.hour) + interval '1 hour' from hour_rolled as r where r.hour < v_start), v_first
      ))
      order by e.event_id limit 1
    ) as n;
  end if;
  foreach v_hour in array coalesce(v_hours, '{}') loop
    v_from := event_id_at(v_hour);
    v_to := event_id_at(v_hour + interval '1 hour');
    delete from hour_total as t where t.hour = v_hour;
    insert into hour_total (hour, key_id, accepted, spend_cents, flags, seconds)
    select f.hour, f.key_id, f.accepted, f.spend_cents, f.flags, f.seconds
    from hour_figures(v_hour, v_hour + interval '1 hour') as f;
    insert into hour_rolled as r (hour, again_at)
    values (v_hour, case
      when exists (select from outbox as o where o.event_id >= v_from and o.event_id < v_to)
        or exists (select from dead_letter as d where d.event_id >= v_from and d.event_id < v_to)
        or exists (
          -- A held submission whose content was removed is never released.
          select from submission as s join event as e on e.event_id = s.event_id
          where s.event_id >= v_from and s.event_id < v_to and s.verdict <> 'clean' and s.released_at is null
            and e.removed_at is null
        )
      then v_now + greatest(interval '5 minutes', (v_now - v_hour) / 8)
    end)
    on conflict (hour) do update set again_at = excluded.again_at;
  end loop;
  return cardinality(coalesce(v_hours, '{}'));
end
$$;
