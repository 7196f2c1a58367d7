-- Changes a tenant's routes for a source, a form or, if both are empty, all other events. p_changes is an array of
-- objects, one per kind of destination: kind; addresses, the new list (more than one only for email); clear, to remove
-- the addresses; rotate, to replace the secret; secret, used if a new secret is needed; recipe, for a CRM recipe, whose name is
-- the address: version, text, settings, secrets, credential and, because operators change a recipe as a whole, changedFrom: the
-- changed_at of the recipe that was read, null for none. Omitted kinds are unchanged.
-- Returns the kinds with a new secret, or null for an unknown tenant.
--
-- The audit never contains an address: an email address is personal data, and a URL may contain a token.
--
-- A new address gets a new secret, because the owner of the old address could otherwise sign for the new one. After a
-- rotation for the same address, the old secret also signs for p_overlap.
create or replace function actions.set_route(
  p_tenant_id int, p_source text, p_form text, p_changes json, p_overlap interval, p_routes_max int
) returns text[]
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
  -- Allows one change per tenant at a time, even if the tenant has no route yet.
  select t.slug into v_slug from tenant as t where t.id = p_tenant_id for no key update;
  if not found then
    return null;
  end if;
  v_before := array(
    select r from actions.route as r where r.tenant_id = p_tenant_id and r.source = p_source and r.form = p_form
  );

  if exists (
    select from json_to_recordset(p_changes) as c (kind text, recipe json)
    left join unnest(v_before) as r on r.kind = c.kind and r.settings is not null
    where c.recipe is not null and (c.recipe ->> 'changedFrom')::timestamptz is distinct from r.changed_at
  ) then
    raise exception 'the recipe was changed meanwhile' using errcode = 'check_violation', constraint = 'recipe_unchanged';
  end if;

  -- New recipients take the rows of removed ones: a row whose address changes keeps its id, so that done effects stay
  -- done.
  with wanted as (
    select c.kind, a.address, case when c.recipe is null then c.secret end as secret, c.recipe
    from json_to_recordset(p_changes) as c (kind text, addresses text[], secret text, recipe json)
    cross join lateral unnest(c.addresses) as a (address)
  ),
  old as (
    select r.id, r.kind, row_number() over (partition by r.kind order by r.id) as place
    from unnest(v_before) as r
    join json_to_recordset(p_changes) as c (kind text, addresses text[], clear boolean) on c.kind = r.kind
    where c.clear or r.address <> all (c.addresses)
  ),
  new as (
    select w.*, row_number() over (partition by w.kind order by w.address) as place
    from wanted as w
    where not exists (select from unnest(v_before) as r where r.kind = w.kind and r.address = w.address)
  ),
  moved as (
    update actions.route as r set
      address = n.address, secret = n.secret, secret_before = null, secret_before_until = null,
      settings = n.recipe -> 'settings', secrets = n.recipe -> 'secrets', credential = n.recipe ->> 'credential',
      recipe = n.recipe ->> 'text', recipe_version = n.recipe ->> 'version', changed_at = service_clock()
    from old as o join new as n on n.kind = o.kind and n.place = o.place
    where r.tenant_id = p_tenant_id and r.id = o.id
  ),
  removed as (
    delete from actions.route as r
    using old as o left join new as n on n.kind = o.kind and n.place = o.place
    where r.tenant_id = p_tenant_id and r.id = o.id and n.kind is null
  )
  insert into actions.route (
    tenant_id, kind, source, form, address, secret, settings, secrets, credential, recipe, recipe_version
  )
  select
    p_tenant_id, n.kind, p_source, p_form, n.address, n.secret, n.recipe -> 'settings', n.recipe -> 'secrets',
    n.recipe ->> 'credential', n.recipe ->> 'text', n.recipe ->> 'version'
  from new as n left join old as o on o.kind = n.kind and o.place = n.place
  where o.kind is null
  order by n.place;

  if (select count(*) from actions.route as r where r.tenant_id = p_tenant_id) > p_routes_max then
    raise exception 'a tenant has no more than % routes', p_routes_max
      using errcode = 'check_violation', constraint = 'routes_max';
  end if;

  update actions.route as r set
    secret = c.secret, secret_before = r.secret, secret_before_until = service_clock() + p_overlap,
    changed_at = service_clock()
  from json_to_recordset(p_changes) as c (kind text, rotate boolean, secret text)
  -- A row with a new address already has this secret.
  where r.tenant_id = p_tenant_id and r.source = p_source and r.form = p_form and r.kind = c.kind
    and c.rotate and r.secret <> c.secret;

  -- A recipe whose name is unchanged; the settings do not say whether a secret was replaced by an equal one.
  update actions.route as r set
    settings = c.recipe -> 'settings', secrets = c.recipe -> 'secrets', credential = c.recipe ->> 'credential',
    recipe = c.recipe ->> 'text', recipe_version = c.recipe ->> 'version', changed_at = service_clock()
  from json_to_recordset(p_changes) as c (kind text, recipe json)
  where r.tenant_id = p_tenant_id and r.source = p_source and r.form = p_form and r.kind = c.kind and c.recipe is not null
    and exists (select from unnest(v_before) as b where b.id = r.id and b.address = r.address);

  v_after := array(
    select r from actions.route as r where r.tenant_id = p_tenant_id and r.source = p_source and r.form = p_form
  );
  select
    jsonb_object_agg(kind, case
      when b.addresses is null and a.addresses is null then 'none'
      when b.addresses is null then 'set'
      when a.addresses is null then 'cleared'
      when b.addresses = a.addresses then 'kept'
      else 'changed'
    end),
    coalesce(bool_or(b.addresses is distinct from a.addresses), false),
    coalesce(array_agg(kind) filter (where a.secret is distinct from b.secret and a.secret is not null), '{}')
  into v_note, v_is_changed, v_renewed
  from json_to_recordset(p_changes) as c (kind text)
  full join (
    select kind, array_agg(concat(r.address, ' ' || r.credential, r.settings, r.recipe, r.recipe_version) order by r.address) as addresses,
      max(r.secret) as secret
    from unnest(v_before) as r group by kind
  ) as b using (kind)
  full join (
    select kind, array_agg(concat(r.address, ' ' || r.credential, r.settings, r.recipe, r.recipe_version) order by r.address) as addresses,
      max(r.secret) as secret
    from unnest(v_after) as r group by kind
  ) as a using (kind);

  if v_is_changed or v_renewed <> '{}' then
    v_note := v_note || jsonb_build_object('new_secret', v_renewed <> '{}')
      || jsonb_strip_nulls(jsonb_build_object('source', nullif(p_source, ''), 'form', nullif(p_form, '')));
    perform note_audit('tenant.route', v_slug, v_note::json);
  end if;
  return v_renewed;
end
$$;
