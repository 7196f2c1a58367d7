-- The clock for acceptance times, windows and leases. Tests replace this function to change the time.
create or replace function service_clock() returns timestamptz
language sql volatile parallel safe
as $$ select clock_timestamp() $$;
