-- One real write that needs new space on the disk, and the figures of GET /healthz with it.
--
-- While somebody keeps the table from being trimmed (a dump that runs for hours), it grows to 16 MiB; from then on a
-- beat is a commit without a row, which proves as much but for the room.
--
-- With p_node the process says that it is there and which surfaces it serves, and is told how many processes serve each
-- of them, and the secret under which they name what they share. One that has not been seen for three seconds is gone, and so
-- is one that says that it serves none. A row that is young is left alone, so that few of its versions pile up while somebody
-- holds a transaction open.
create or replace function beat(p_slot int, p_node uuid default null, p_surfaces text[] default '{}')
returns table (pending bigint, dead bigint, nodes json, seed uuid)
language plpgsql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
begin
  perform keep_promise();
  if pg_relation_size('heartbeat') < 16 * 1024 * 1024 then
    insert into heartbeat (slot) values (p_slot);
  else
    perform pg_logical_emit_message(true, 'beat', '');
  end if;
  if p_node is not null and p_surfaces = '{}' then
    delete from limit_node as n where n.node = p_node;
  elsif p_node is not null then
    insert into limit_node as n (node, surfaces, seen_at) values (p_node, p_surfaces, v_now)
    on conflict (node) do update set surfaces = excluded.surfaces, seen_at = excluded.seen_at
    where n.seen_at < v_now - interval '0.9 seconds' or n.surfaces <> excluded.surfaces;
    -- Past the rows that others hold: after an outage all are old, and beats that clear away one another's would deadlock.
    delete from limit_node as n using (
      select g.node from limit_node as g
      where g.seen_at < v_now - interval '1 minute' and g.node <> p_node
      for update skip locked
    ) as gone
    where n.node = gone.node;
    insert into limit_seed default values on conflict do nothing;
  end if;
  return query
  select
    coalesce(sum(t.delta) filter (where t.state = 'pending'), 0)::bigint,
    coalesce(sum(t.delta) filter (where t.state = 'dead'), 0)::bigint,
    (
      select json_object_agg(s.surface, s.nodes) from (
        select u.surface, count(*) as nodes from limit_node as n cross join unnest(n.surfaces) as u (surface)
        where n.seen_at > v_now - interval '3 seconds' group by 1
      ) as s
    ),
    (select s.seed from limit_seed as s)
  from outbox_tally as t;
end
$$;
