-- Disables a tenant and suspends its keys, or enables it again; both at once, so that a commit looks at the key alone
-- (accept). Suspending a key waits for its commits under way, as revoking does (wait_for_commits_of_key): when this has
-- committed, nothing of the tenant's keys commits any more. What was accepted before is delivered as ever.
--
-- The keys are of one moment: whoever issues one holds the tenant's row as well (insertKey). They are locked in order, so
-- that nobody waits in a circle; a commit waits for nobody.
--
-- Returns since when it is disabled (null: enabled), whether that was so before, and how many keys changed; no row when
-- there is no such tenant.
create or replace function disable_tenant(p_slug text, p_is_disabled boolean)
returns table (disabled_at timestamptz, is_unchanged boolean, keys int)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_id int;
  v_key int;
  v_since timestamptz;
begin
  select t.id, t.disabled_at into v_id, v_since from tenant as t where t.slug = p_slug for no key update;
  if not found then
    return;
  end if;
  keys := 0;
  is_unchanged := (v_since is not null) = p_is_disabled;
  if not is_unchanged then
    v_since := case when p_is_disabled then service_clock() end;
    update tenant as t set disabled_at = v_since where t.id = v_id;
    for v_key in
      select k.id from api_key as k where k.tenant_id = v_id and k.revoked_at is null order by k.id
    loop
      update api_key as k set suspended_at = v_since where k.id = v_key;
      keys := keys + 1;
    end loop;
    perform note_audit(
      case when p_is_disabled then 'tenant.disable' else 'tenant.enable' end, p_slug, json_build_object('keys', keys)
    );
  end if;
  disabled_at := v_since;
  return next;
end
$$;
