-- Revokes the rights to PostgreSQL functions with which a hijacked process could stop the intake: advisory locks, which
-- posts need, large objects, and WAL records of any size. The tables' owner keeps the rights for its functions.
--
-- The functions belong to the superuser. If another role runs this file, it does nothing, and ctl doctor warns; as a
-- superuser, run in this database: psql -f sql/builtins.sql
do $$
declare
  v_owner oid := (select n.nspowner from pg_namespace as n where n.nspname = 'public');
  v_function regprocedure;
begin
  if not (select r.rolsuper from pg_roles as r where r.rolname = current_user) then
    return;
  end if;
  for v_function in
    select p.oid::regprocedure from pg_proc as p
    where p.pronamespace = 'pg_catalog'::regnamespace
      and (p.proname ~ '^(pg_(try_)?advisory|lo)_' or p.proname in ('loread', 'lowrite', 'pg_logical_emit_message'))
  loop
    execute format('revoke all on function %s from public cascade', v_function);
    execute format('grant execute on function %s to pg_database_owner, %s', v_function, v_owner::regrole);
  end loop;
end
$$;
