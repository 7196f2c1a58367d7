-- Makes this transaction's commit wait for the disk, and for a synchronous standby if there is one, whatever setting a
-- pooler's session, the role or the database has. Sets it for the transaction, because a function's own setting ends
-- before the commit.
create or replace function ensure_synchronous_commit() returns void
language plpgsql
as $$
begin
  if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end
$$;
