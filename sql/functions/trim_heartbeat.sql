-- Empties the heartbeat table when it reaches 2 MiB, which takes one process about two minutes. Uses TRUNCATE, because a
-- long transaction retains deleted rows, and a write to a reused page proves nothing about disk space. Leaves a locked
-- table to the next run, because beats would queue behind the lock request.
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
