-- Examines the next p_limit events by id and returns those whose texts match a pattern. edge is the last id examined; if
-- nothing matches, one row contains only the edge; no row at the end. The pattern is coarse (src/lead/person.ts), so the
-- caller decides which events are the person's.
create or replace function erase_candidates(p_after text, p_limit int, p_pattern text)
returns table (
  edge text, event_id text, lead text, extra text, raw text, idempotency_key text, request_id text,
  contact text   -- a submission's sender
)
language plpgsql stable
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_edge text;
begin
  select max(n.event_id) into v_edge
  from (select e.event_id from event as e where e.event_id > p_after order by e.event_id limit p_limit) as n;
  if v_edge is null then
    return;
  end if;
  return query
  select v_edge, f.*
  from (select) as one
  left join (
    select e.event_id, e.lead::text, e.extra, e.raw, e.idempotency_key, e.request_id,
      case when s.event_id is not null then json_build_object('phone', s.phone, 'email', s.email)::text end
    from event as e
    left join submission as s on e.kind = 'form' and s.event_id = e.event_id
    where e.event_id > p_after and e.event_id <= v_edge and e.removed_at is null
      and (
        e.lead::text ~ p_pattern or e.extra ~ p_pattern or e.raw ~ p_pattern or e.idempotency_key ~ p_pattern
        or e.request_id ~ p_pattern
      )
  ) as f on true
  order by f.event_id;
end
$$;

-- Examines the next collisions by id in the same way.
create or replace function erase_candidate_collisions(p_after bigint, p_limit int, p_pattern text)
returns table (edge bigint, id bigint, event_id text, lead text, extra text, raw text, request_id text)
language plpgsql stable
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_edge bigint;
begin
  select max(n.id) into v_edge
  from (select c.id from collision as c where c.id > p_after order by c.id limit p_limit) as n;
  if v_edge is null then
    return;
  end if;
  return query
  select v_edge, f.*
  from (select) as one
  left join (
    select c.id, c.event_id, c.lead::text, c.extra, c.raw, c.request_id
    from collision as c
    where c.id > p_after and c.id <= v_edge
      and (c.lead::text ~ p_pattern or c.extra ~ p_pattern or c.raw ~ p_pattern or c.request_id ~ p_pattern)
  ) as f on true
  order by f.id;
end
$$;
