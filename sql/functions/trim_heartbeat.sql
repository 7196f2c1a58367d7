-- Empties the table of the beats when it has grown to 2 MiB: two minutes of one process.
--
-- By TRUNCATE and not by DELETE, because a transaction that is held open anywhere keeps deleted rows from being
-- cleared away, and pages that are would be used again, which proves nothing. It runs with its owner's rights, since
-- the service may not truncate. When somebody is reading the table, the next run does it: beats queue behind the wait
-- for the lock.
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
