-- Changes where a tenant's leads go. p_changes is an array of objects, one a destination: its kind; address, when it
-- gets that one; clear, to take it away; rotate, for another secret; secret, the one that it gets if it needs one. What is
-- left out stays. Returns the kinds with a new secret, or null when there is no such tenant.
--
-- What has changed is noted, and never an address: that of a mailbox is somebody's, and a URL may hold a token.
--
-- A new address gets a new secret: its owner must not be able to sign for the one before, nor the other way round. When
-- the secret alone is rotated, the one before stays valid for p_overlap.
create or replace function actions.set_route(p_tenant_id int, p_changes json, p_overlap interval) returns text[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_slug text;
  v_before actions.route[];
  v_after actions.route[];
  v_note jsonb;
  v_is_changed boolean;
  v_renewed text[];
begin
  -- One change of a tenant's route at a time, also while it has none.
  select t.slug into v_slug from tenant as t where t.id = p_tenant_id for no key update;
  if not found then
    return null;
  end if;
  v_before := array(select r from actions.route as r where r.tenant_id = p_tenant_id);

  delete from actions.route as r
  using json_to_recordset(p_changes) as c (kind text, clear boolean)
  where r.tenant_id = p_tenant_id and r.kind = c.kind and c.clear;

  insert into actions.route as r (tenant_id, kind, address, secret)
  select p_tenant_id, c.kind, c.address, c.secret
  from json_to_recordset(p_changes) as c (kind text, address text, secret text)
  where c.address is not null
  on conflict (tenant_id, kind) do update set
    address = excluded.address, secret = excluded.secret, secret_before = null, secret_before_until = null,
    changed_at = service_clock()
    where r.address <> excluded.address;

  update actions.route as r set
    secret = c.secret, secret_before = r.secret, secret_before_until = service_clock() + p_overlap,
    changed_at = service_clock()
  from json_to_recordset(p_changes) as c (kind text, rotate boolean, secret text)
  -- With a new address it has this secret already.
  where r.tenant_id = p_tenant_id and r.kind = c.kind and c.rotate and r.secret <> c.secret;

  v_after := array(select r from actions.route as r where r.tenant_id = p_tenant_id);
  select
    jsonb_object_agg(kind, actions.change_of(b.address, a.address)),
    coalesce(bool_or(b.address is distinct from a.address), false),
    coalesce(array_agg(kind) filter (where a.secret is distinct from b.secret and a.secret is not null), '{}')
  into v_note, v_is_changed, v_renewed
  from json_to_recordset(p_changes) as c (kind text)
  full join unnest(v_before) as b using (kind)
  full join unnest(v_after) as a using (kind);

  if v_is_changed or v_renewed <> '{}' then
    v_note := v_note || jsonb_build_object('new_secret', v_renewed <> '{}');
    perform note_audit('tenant.route', v_slug, v_note::json);
  end if;
  return v_renewed;
end
$$;

-- What became of a destination, in a word: none | set | changed | kept | cleared.
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
