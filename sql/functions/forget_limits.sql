-- Forgets what is left of all limits when the tables are full of old versions, and says whether they can be worked on.
--
-- Rows change several times a second, and a transaction that is held open anywhere keeps all that they were: a statement
-- would take longer and longer. By TRUNCATE, which asks nobody what he has seen; the nodes tell what they know. When somebody
-- is reading the tables (a dump), nothing is forgotten, and each node has an equal share until that ends.
--
-- Chosen: more than four old versions to a row, from half a MiB on, which all that is there takes when nobody holds any; and
-- 16 MiB, should the statistics be wrong.
create or replace function forget_limits() returns boolean
language plpgsql
set lock_timeout = '10ms'
as $$
declare
  v_lease oid := 'limit_lease'::regclass;
  v_bucket oid := 'limit_bucket'::regclass;
  v_bytes bigint := pg_relation_size(v_lease) + pg_relation_size(v_bucket);
begin
  if v_bytes < 512 * 1024 then
    return true;
  end if;
  if v_bytes > 16 * 1024 * 1024
    or pg_stat_get_dead_tuples(v_lease) + pg_stat_get_dead_tuples(v_bucket)
      > 4 * (pg_stat_get_live_tuples(v_lease) + pg_stat_get_live_tuples(v_bucket))
  then
    truncate limit_bucket, limit_lease;
  end if;
  return true;
exception when lock_not_available then
  return false;
end
$$;
