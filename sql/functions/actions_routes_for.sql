-- Returns the routes that receive an event: for each kind of destination, those for its form, else those for its source,
-- else those for all events. p_form is '' for a lead. The planner inlines this function.
create or replace function actions.routes_for(p_tenant_id int, p_source text, p_form text)
returns setof actions.route
language sql stable
as $$
  select r.* from actions.route as r
  where r.tenant_id = p_tenant_id and r.source in ('', p_source) and r.form in ('', p_form)
    and not exists (
      select from actions.route as c
      where c.tenant_id = p_tenant_id and c.kind = r.kind and c.closeness > r.closeness
        and c.source in ('', p_source) and c.form in ('', p_form)
    );
$$;
