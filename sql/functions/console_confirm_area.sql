-- Takes a term that callers use into the vocabulary, or ratifies a proposed one, and notes it in the audit.
--
-- The vocabulary belongs to the operator: the service's role may not write it. This function runs with its owner's
-- rights and can do no more than that: no term that nobody has sent comes in, none changes its spelling, none is
-- retired, and what is confirmed stays confirmed.
--
-- p_known: the term of the vocabulary that the caller takes p_area for (it folds as the validator does, lower() may
-- know ASCII only), or null when there is none. p_claimed: the address that it was asked from.
create or replace function console_confirm_area(p_area text, p_status text, p_known text, p_claimed text) returns text
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
  v_area text := coalesce(p_known, p_area);
  v_before text;
begin
  if p_status is null or p_status not in ('confirmed', 'proposed') then
    raise exception 'the status is neither confirmed nor proposed' using errcode = 'check_violation';
  end if;
  select a.status into v_before from area as a where a.area = v_area for update;
  if not found then
    if p_known is not null then
      return 'changed_meanwhile';
    end if;
    -- What was sent has been measured with it.
    if not exists (select from unknown_area_seen as u where u.term = p_area) then
      return 'not_found';
    end if;
    insert into area (area, status) values (p_area, p_status) on conflict do nothing;
    if not found then
      return 'changed_meanwhile';
    end if;
  elsif v_before = p_status or v_before = 'confirmed' then
    return 'unchanged';
  elsif v_before = 'retired'
    and not exists (
      select from unknown_area_seen as u
      where u.term = p_area and (lower(p_area) = lower(v_area) or v_area ~ '[^ -~]')
    )
  then
    return 'not_found';
  else
    update area set status = p_status where area = v_area;
  end if;
  perform append_audit(
    'console', p_claimed, case p_status when 'confirmed' then 'area.confirm' else 'area.propose' end,
    array[v_area], json_build_object('before', v_before)
  );
  return 'done';
end
$$;
