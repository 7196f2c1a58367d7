-- Returns a route's recipient for operators: a webhook's host, a recipe's name, or an email address's first letter and domain;
-- never a path, a token or a secret.
create or replace function actions.target_of(p_route actions.route) returns text
language sql immutable
as $$
  select case
    when p_route.kind = 'email' then regexp_replace(p_route.address, '^(.).*@', '\1…@')
    else coalesce(substring(p_route.address from '^https://([^/?]+)'), p_route.address)
  end;
$$;
