-- Dismisses a collision and audits it; the collision can still be accepted later. Outcome: dismissed | already (settled
-- or erased) | unknown.
create or replace function dismiss_collision(
  p_id bigint, p_origin text default 'ctl', p_claimed text default current_setting('lead_intake.claimed', true)
) returns text
language plpgsql
as $$
declare
  v_event_id text;
begin
  update collision as c set settled_at = service_clock()
  where c.id = p_id and c.settled_at is null
  returning c.event_id into v_event_id;
  if v_event_id is null then
    return case when exists (select from collision as c where c.id = p_id) then 'already' else 'unknown' end;
  end if;
  perform append_audit(
    p_origin, p_claimed, 'collision.dismiss', array[v_event_id], json_build_object('collision', p_id)
  );
  return 'dismissed';
end
$$;

-- The console's variant; p_claimed is the operator's name.
create or replace function console_dismiss_collision(p_id bigint, p_claimed text) returns text
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select dismiss_collision(p_id, 'console', p_claimed) $$;
