-- Makes one write that needs new disk space, and returns the figures for GET /healthz.
--
-- If something (such as a long dump) prevents trimming, the table grows up to 16 MiB; after that, a beat commits without
-- inserting a row, which proves everything except disk space.
create or replace function beat(p_slot int)
returns table (pending bigint, dead bigint)
language plpgsql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
  perform ensure_synchronous_commit();
  if pg_relation_size('heartbeat') < 16 * 1024 * 1024 then
    insert into heartbeat (slot) values (p_slot);
  else
    perform pg_logical_emit_message(true, 'beat', '');
  end if;
  return query
  select
    coalesce(sum(t.delta) filter (where t.state = 'pending'), 0)::bigint,
    coalesce(sum(t.delta) filter (where t.state = 'dead'), 0)::bigint
  from outbox_tally as t;
end
$$;
