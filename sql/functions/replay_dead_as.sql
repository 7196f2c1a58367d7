-- Replays dead letters and audits the replay.
create or replace function replay_dead_as(
  p_event_id text[], p_origin text default 'ctl', p_claimed text default current_setting('lead_intake.claimed', true)
)
returns table (event_id text)
language plpgsql
as $$
declare
  v_replayed text[];
begin
  v_replayed := array(select r.event_id from replay_dead(p_event_id) as r order by r.event_id collate "C");
  if v_replayed <> '{}' then
    perform append_audit(p_origin, p_claimed, 'dead.replay', v_replayed, null);
  end if;
  return query select unnest(v_replayed);
end
$$;

-- The console's variant; p_claimed is the operator's name.
create or replace function console_replay_dead(p_event_id text[], p_claimed text) returns table (event_id text)
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select r.event_id from replay_dead_as(p_event_id, 'console', p_claimed) as r $$;
