-- When a daily digest was due last, by the clock of a zone. A time that the clock skips in spring is due as much later;
-- one that comes twice in autumn is due once. In a zone that the database knows no more, by UTC.
create or replace function actions.digest_due(p_now timestamptz, p_zone text, p_at time) returns timestamptz
language plpgsql stable
as $$
declare
  v_day date;
begin
  -- Here, where what it throws is caught.
  v_day := (p_now at time zone p_zone)::date;
  -- Today's by that clock, else the one before. Compared as moments: the clock's own times go back and forth.
  return case
    when (v_day + p_at) at time zone p_zone <= p_now then (v_day + p_at) at time zone p_zone
    else (v_day - 1 + p_at) at time zone p_zone
  end;
exception
  when invalid_parameter_value then
    return actions.digest_due(p_now, 'UTC', p_at);
end
$$;
