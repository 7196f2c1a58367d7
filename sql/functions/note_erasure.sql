-- Notes what an erasure has removed: one row of audit a run, which grows with every transaction of it, so that a run
-- that was cut short is noted too. Counts only: neither the address nor the number that was looked for, nor a digest
-- of it.
create or replace function note_erasure(p_audit_id bigint, p_subject text, p_counts json) returns bigint
language plpgsql
as $$
declare
  v_id bigint := p_audit_id;
begin
  if v_id is null then
    insert into audit (at, actor, action, subject, detail)
    values (service_clock(), 'ctl ' || current_user, 'person.erase', '0', '{"events":0,"collisions":0}')
    returning id into v_id;
  end if;
  update audit as a
  set detail = n.detail, subject = coalesce(p_subject, n.detail ->> 'events')
  from (
    select json_object_agg(c.name, c.count order by c.first) as detail
    from (
      select m.key as name, sum(m.value::int) as count, min(m.ord) as first
      from (
        select b.* from audit as a cross join json_each_text(a.detail) with ordinality as b (key, value, ord)
        where a.id = v_id
        union all
        select p.key, p.value, p.ord + 100 from json_each_text(p_counts) with ordinality as p (key, value, ord)
      ) as m
      group by m.key
    ) as c
  ) as n
  where a.id = v_id;
  return v_id;
end
$$;
