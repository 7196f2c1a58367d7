-- Returns what the actions process needs to run a route's CRM recipe.
create or replace function actions.recipe_of(p_route actions.route) returns json
language sql stable
as $$
  select json_build_object(
    'name', p_route.address, 'text', p_route.recipe, 'settings', p_route.settings, 'secrets', p_route.secrets,
    'credential', p_route.credential, 'changedAt', p_route.changed_at::text
  );
$$;
