-- Returns the last time at which a daily digest was due in a time zone. A time that is skipped in spring shifts, a time
-- that is repeated in autumn counts once, and an unknown zone counts as UTC.
create or replace function actions.digest_due(p_now timestamptz, p_zone text, p_at time) returns timestamptz
language plpgsql stable
as $$
declare
  v_day date;
begin
  -- Assigned here, because the exception handler does not cover declarations.
  v_day := (p_now at time zone p_zone)::date;
  -- Today's time or yesterday's, compared as instants, because local time can jump.
  return case
    when (v_day + p_at) at time zone p_zone <= p_now then (v_day + p_at) at time zone p_zone
    else (v_day - 1 + p_at) at time zone p_zone
  end;
exception
  when invalid_parameter_value then
    return actions.digest_due(p_now, 'UTC', p_at);
end
$$;
