-- Examines the next p_limit logged posts by id, and erases the identifiers of those in which one matches a pattern or, if it
-- is null, may contain an address or a number. Those of duplicates are also erased with their event (remove_content), but
-- the event may be another person's (collision). edge is the last id examined, null at the end; found counts the refused
-- posts; a dry run only counts.
create or replace function erase_posts(p_after text, p_limit int, p_pattern text, p_is_dry_run boolean)
returns table (edge text, found int)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_edge text;
  v_ids text[];
  v_refused int;
begin
  -- As in add_posts. Two erasures would also lock rows in different orders.
  perform pg_advisory_xact_lock(5, 0);
  select max(n.id), array_agg(n.id) filter (where n.is_named), count(*) filter (where n.is_named and n.event_id is null)
  into v_edge, v_ids, v_refused
  from (
    select p.id, p.event_id,
      coalesce(p.request_id ~ p_pattern, may_name_person(p.request_id, true))
        or coalesce(p.idempotency_key ~ p_pattern, may_name_person(p.idempotency_key, true)) as is_named
    from post_log as p
    where p.id > p_after order by p.id limit p_limit
  ) as n;
  if not p_is_dry_run then
    update post_log as p set request_id = null, idempotency_key = null where p.id = any (v_ids);
  end if;
  return query select v_edge, v_refused;
end
$$;
