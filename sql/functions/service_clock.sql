-- The clock of acceptance, windows and leases. Tests replace it to move time.
create or replace function service_clock() returns timestamptz
language sql volatile parallel safe
as $$ select clock_timestamp() $$;
