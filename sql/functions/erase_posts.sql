-- Examines the next p_limit logged posts by id, and erases the identifiers of those in which one matches a pattern or, if it
-- is null, may contain an address or a number. Those of duplicates are also erased with their event (remove_content), but
-- the event may be another person's (collision). edge is the last id examined, null at the end; a dry run only counts.
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
begin
  -- As in add_posts. Two erasures would also lock rows in different orders.
  perform pg_advisory_xact_lock(5, 0);
  select max(n.id), array_agg(n.id) filter (
    where coalesce(n.request_id ~ p_pattern, may_name_person(n.request_id, true))
      or coalesce(n.idempotency_key ~ p_pattern, may_name_person(n.idempotency_key, true))
  )
  into v_edge, v_ids
  from (
    select p.id, p.request_id, p.idempotency_key from post_log as p
    where p.id > p_after order by p.id limit p_limit
  ) as n;
  if not p_is_dry_run then
    update post_log as p set request_id = null, idempotency_key = null where p.id = any (v_ids);
  end if;
  return query select v_edge, coalesce(cardinality(v_ids), 0);
end
$$;
