-- Revokes or suspends a key. It waits for the commits that hold the key's lock shared (accept), so when it has returned
-- no event of the key can commit. A trigger, so that an UPDATE by hand is as safe as the operator's command, and as
-- bounded: a commit is given up after less than the 12 s, so what takes longer is a session that hangs.
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
