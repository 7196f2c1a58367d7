-- Adds a process's counts of refusals to the totals, and records when keys were last used (now, if in the future).
create or replace function add_refusals(
  p_key_id int[], p_reason text[], p_field text[], p_count int[], p_used_key_id int[], p_used_at text[]
) returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  insert into refusal_total as t (hour, key_id, reason, field, count)
  select date_trunc('hour', service_clock(), 'UTC'), r.key_id, r.reason, r.field, sum(r.count)
  from unnest(p_key_id, p_reason, p_field, p_count) as r (key_id, reason, field, count)
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (hour, key_id, reason, field) do update set count = t.count + excluded.count;

  -- Rows are locked in the order of disable_tenant(), to prevent deadlocks.
  with used as (
    select k.id, u.used_at::timestamptz as used_at
    from unnest(p_used_key_id, p_used_at) as u (id, used_at) join api_key as k on k.id = u.id
    where isfinite(u.used_at::timestamptz)
    order by k.id
    for no key update of k
  )
  update api_key as k set last_used_at = least(greatest(k.last_used_at, u.used_at), service_clock())
  from used as u where k.id = u.id;
$$;
