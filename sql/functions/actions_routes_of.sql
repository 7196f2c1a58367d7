-- Returns the routes that apply to a source or form (routes_for), each with the tenant's columns: one row without a route
-- if there is none, no row for an unknown tenant.
create or replace function actions.routes_of(p_tenant text, p_source text, p_form text)
returns table (
  sandbox boolean, name text, time_zone text,
  route_id int, kind text, address text, secret text, secret_before text, recipe json
)
language sql stable
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  select t.sandbox, t.name, t.time_zone, r.id, r.kind, r.address, r.secret,
    case when r.secret_before_until > service_clock() then r.secret_before end,
    case when r.settings is not null then actions.recipe_of(r) end
  from tenant as t
  left join lateral actions.routes_for(t.id, p_source, p_form) as r on true
  where t.slug = p_tenant
  order by r.kind, r.id;
$$;
