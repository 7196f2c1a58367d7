-- Changes a tenant's route and returns what it is then; no row when there is no such tenant. null leaves a part as it is.
-- What has changed is noted, and never an address: that of a mailbox is somebody's, and a URL may hold a token.
--
-- A new address gets a new secret: its owner must not be able to sign for the one before, nor the other way round. When
-- the secret alone is rotated, the one before stays valid for p_overlap.
create or replace function actions.set_route(
  p_tenant_id int, p_crm_url text, p_email text, p_clear_crm boolean, p_clear_email boolean, p_rotate boolean,
  p_secret text, p_overlap interval
) returns table (crm_url text, email text, has_new_secret boolean)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_before actions.route;
  v_crm_url text;
  v_email text;
  v_new boolean;
  v_slug text;
begin
  -- One change of a tenant's route at a time, also while it has none.
  select t.slug into v_slug from tenant as t where t.id = p_tenant_id for no key update;
  if not found then
    return;
  end if;
  select * into v_before from actions.route as r where r.tenant_id = p_tenant_id;
  v_crm_url := case when p_clear_crm then null else coalesce(p_crm_url, v_before.crm_url) end;
  v_email := case when p_clear_email then null else coalesce(p_email, v_before.email) end;
  v_new := v_crm_url is not null and (p_rotate or v_crm_url is distinct from v_before.crm_url);

  if v_crm_url is null and v_email is null then
    delete from actions.route as r where r.tenant_id = p_tenant_id;
  else
    insert into actions.route as r (tenant_id, crm_url, crm_secret, email)
    values (p_tenant_id, v_crm_url, case when v_crm_url is not null then p_secret end, v_email)
    on conflict (tenant_id) do update set
      crm_url = excluded.crm_url,
      email = excluded.email,
      crm_secret = case when v_crm_url is null then null when v_new then p_secret else r.crm_secret end,
      crm_secret_before = case
        when v_crm_url is null or v_crm_url is distinct from r.crm_url then null
        when v_new then r.crm_secret
        else r.crm_secret_before
      end,
      crm_secret_before_until = case
        when v_crm_url is null or v_crm_url is distinct from r.crm_url then null
        when v_new then service_clock() + p_overlap
        else r.crm_secret_before_until
      end,
      changed_at = service_clock();
  end if;
  if v_new or v_crm_url is distinct from v_before.crm_url or v_email is distinct from v_before.email then
    perform note_audit('tenant.route', v_slug, json_build_object(
      'crm', actions.change_of(v_before.crm_url, v_crm_url),
      'email', actions.change_of(v_before.email, v_email),
      'new_secret', v_new
    ));
  end if;
  return query select v_crm_url, v_email, v_new;
end
$$;

-- What became of a part of a route, in a word: none | set | changed | kept | cleared.
create or replace function actions.change_of(p_before text, p_after text) returns text
language sql immutable
as $$
  select case
    when p_before is null and p_after is null then 'none'
    when p_before is null then 'set'
    when p_after is null then 'cleared'
    when p_before = p_after then 'kept'
    else 'changed'
  end;
$$;
