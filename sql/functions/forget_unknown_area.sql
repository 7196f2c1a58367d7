-- Decrements the count of an unknown term, and removes the term at 0.
--
-- Aggregates the rows, because a row with -1 would still contain the term. The loop waits for a concurrent fold_counts
-- and then finds the row that fold_counts inserted.
create or replace function forget_unknown_area(p_tenant_id int, p_term text) returns void
language plpgsql
as $$
declare
  v_count bigint := -1;
  v_first_at timestamptz;
  v_last_at timestamptz;
  v_folded record;
begin
  loop
    with folded as (
      delete from unknown_area_seen as u where u.tenant_id = p_tenant_id and u.term = p_term returning u.*
    )
    select sum(f.count) as count, min(f.first_at) as first_at, max(f.last_at) as last_at into v_folded
    from folded as f;
    v_count := v_count + coalesce(v_folded.count, 0);
    v_first_at := least(v_first_at, v_folded.first_at);
    v_last_at := greatest(v_last_at, v_folded.last_at);
    exit when not exists (
      select from unknown_area_seen as u where u.tenant_id = p_tenant_id and u.term = p_term
    );
  end loop;
  if v_count > 0 then
    insert into unknown_area_seen (tenant_id, term, count, first_at, last_at)
    values (p_tenant_id, p_term, v_count, v_first_at, v_last_at);
  end if;
end
$$;
