-- Registers an erasure's tombstones, or extends them: posts with one of the contacts (src/lead/person.ts) that arrive in
-- the next p_lease_ms are erased as they are accepted. Called again during the erasure, and at its end with a lease of
-- 0; an interrupted erasure ends with the lease. Returns the end of the lease on the server's clock, with which accept
-- compares the posts' arrival.
create or replace function register_erasure(p_run uuid, p_contact text[], p_lease_ms int, p_alive_ms int)
returns timestamptz
language plpgsql
as $$
declare
  v_until timestamptz := clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0);
begin
  insert into tombstone as t (run, digest, posted_until, expires_at)
  select distinct p_run, tombstone_digest(c.contact), v_until, v_until + make_interval(secs => p_alive_ms / 1000.0)
  from unnest(p_contact) as c (contact)
  on conflict (digest, run) do update set posted_until = excluded.posted_until, expires_at = excluded.expires_at;
  return v_until;
end
$$;

-- Returns the HMAC-SHA-256 of a contact.
create or replace function tombstone_digest(p_contact text) returns bytea
language sql stable
as $$
  select sha256(k.outer_pad || sha256(k.inner_pad || convert_to(p_contact, 'UTF8'))) from tombstone_key as k;
$$;

-- Waits for the running batches of accept, which may have missed new tombstones. Each batch holds the locks of its keys,
-- which pg_locks shows. A batch times out after 9 s, so a lock held longer is not a batch's.
create or replace function wait_for_batches() returns void
language plpgsql
as $$
declare
  v_running text[];
  v_until timestamptz := clock_timestamp() + interval '12 seconds';
begin
  loop
    select array_agg(l.virtualtransaction) into v_running
    from pg_locks as l
    where l.locktype = 'advisory' and l.classid = 1 and l.mode = 'ShareLock' and l.granted
      and l.database = (select d.oid from pg_database as d where d.datname = current_database())
      and (v_running is null or l.virtualtransaction = any (v_running));
    exit when v_running is null or clock_timestamp() > v_until;
    perform pg_sleep(0.005);
  end loop;
end
$$;

-- Deletes expired tombstones, because every batch checks all tombstones, and those from before the clock was set back.
create or replace function forget_tombstones() returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  delete from tombstone
  where expires_at not between clock_timestamp() and clock_timestamp() + interval '5 minutes'
$$;
