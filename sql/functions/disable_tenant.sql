-- Disables a tenant and suspends its keys, or enables both. Keys are suspended so that a commit checks only the key
-- (accept). Suspending waits for the key's running commits, as a revocation does (wait_for_commits_of_key): afterwards,
-- no event posted with one of the keys can commit. Accepted events are still delivered.
--
-- Issuing a key locks the tenant's row too (insertKey), so no key is missed. Keys are locked in order, to prevent
-- deadlocks.
--
-- Returns when the tenant was disabled (null: enabled), whether nothing changed, and how many keys changed; no row for
-- an unknown tenant.
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
