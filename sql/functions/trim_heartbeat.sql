-- Empties the heartbeat table when it has 2 MiB, about two minutes of one process. Uses TRUNCATE, because a long
-- transaction keeps deleted rows, and reused pages prove nothing about disk space. If someone is reading the table,
-- the next run does it; beats queue behind the lock.
create or replace function trim_heartbeat() returns void
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '100ms'
as $$
begin
  if pg_relation_size('heartbeat') >= 2 * 1024 * 1024 then
    truncate heartbeat;
  end if;
exception when lock_not_available then
  null;
end
$$;
