-- When a key is revoked or suspended, waits for the commits that hold the key's lock (accept); afterwards, no event
-- posted with the key can commit. This is a trigger so that a manual UPDATE is safe too. Commits time out within 12 s; a
-- longer wait means that a session hangs.
create or replace function wait_for_commits_of_key() returns trigger
language plpgsql
set lock_timeout = '12s'
as $$
begin
  perform pg_advisory_xact_lock(1, new.id);
  return new;
end
$$;

create or replace trigger wait_for_commits_of_key
before update of revoked_at, suspended_at on api_key
for each row when (
  old.revoked_at is distinct from new.revoked_at or old.suspended_at is distinct from new.suspended_at
)
execute function wait_for_commits_of_key();
