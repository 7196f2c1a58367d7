-- The last time a daily digest was due in a time zone. A time skipped in spring shifts, one repeated in autumn counts
-- once, and an unknown zone falls back to UTC.
create or replace function actions.digest_due(p_now timestamptz, p_zone text, p_at time) returns timestamptz
language plpgsql stable
as $$
declare
  v_day date;
begin
  -- Assigned here, inside the exception handler.
  v_day := (p_now at time zone p_zone)::date;
  -- Today's or yesterday's, compared as instants, because local time jumps.
  return case
    when (v_day + p_at) at time zone p_zone <= p_now then (v_day + p_at) at time zone p_zone
    else (v_day - 1 + p_at) at time zone p_zone
  end;
exception
  when invalid_parameter_value then
    return actions.digest_due(p_now, 'UTC', p_at);
end
$$;
