-- Who may do what. Applied last, because everything else must exist.
--
-- lead_service: the service process. lead_actions: the actions process. Both are without rights of their own on the
-- functions: they run with the rights of whoever calls them.

-- What the service's role may do with a table that comes later is decided here too.
grant select, insert, update, delete on all tables in schema public to lead_service;
alter default privileges in schema public grant select, insert, update, delete on tables to lead_service;

-- What belongs to the operator: a service that somebody has taken over can neither issue keys, nor raise limits, nor
-- make a sandbox of a tenant, nor change a price.
revoke insert, update, delete on tenant, campaign, api_key, ip_limit, area, form, plan, schema_file from lead_service;
grant update (last_used_at) on api_key to lead_service;
-- What is noted stays noted.
revoke update, delete on audit from lead_service;
-- The one way in which the service's role comes to the vocabulary; it runs with its owner's rights.
revoke execute on function console_confirm_area(text, text, text, text) from public;
grant execute on function console_confirm_area(text, text, text, text) to lead_service;

grant usage on schema actions to lead_actions;
grant select on actions.route to lead_actions;
grant select, insert, update on actions.effect to lead_actions;
-- The rest comes with the request.
grant select (id, slug, sandbox) on tenant to lead_actions;
grant select on schema_file to lead_actions;
