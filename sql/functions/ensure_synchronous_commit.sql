-- What an answer of ours rests on, whatever became of the settings of the session: a pooler gives out sessions that nobody
-- of ours has set up, and a role or a database may have settings of its own.
--
-- The commit of this transaction waits for the disk, and for the synchronous standby where there is one. It is set for the
-- transaction: what a function sets for itself (create function … set) is undone before the commit.
create or replace function ensure_synchronous_commit() returns void
language plpgsql
as $$
begin
  if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end
$$;
