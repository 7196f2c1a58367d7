-- Adds an unknown term to the vocabulary, or confirms a proposed one or restores a retired one, and audits it.
--
-- The service's role may not write to the vocabulary. This function runs as the owner and permits little: it adds and
-- restores only terms that were sent in leads, and neither respells nor retires terms.
--
-- p_known: the term that the validator matches with p_area, or null; not found here, because lower() may convert only
-- ASCII. p_claimed: the operator's name.
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
    -- Also limits the length, because terms in leads have passed that check.
    if p_area = '' or not exists (select from unknown_area as u where u.term = p_area collate "C") then
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
      select from unknown_area as u
      where u.term = p_area collate "C" and (lower(p_area) = lower(v_area) or v_area ~ '[^ -~]')
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
