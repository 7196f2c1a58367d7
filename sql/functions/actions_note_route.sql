-- Keeps tenant.has_route, and wakes the delivery loops when a route appears: what waited for it goes at once.
create or replace function actions.note_route() returns trigger
language plpgsql
as $$
begin
  update tenant as t
  set has_route = exists (select from actions.route as r where r.tenant_id = t.id)
  where t.id = any (array[
    case when tg_op <> 'INSERT' then old.tenant_id end,
    case when tg_op <> 'DELETE' then new.tenant_id end
  ]);
  if tg_op <> 'DELETE' then
    perform pg_notify('outbox', '');
  end if;
  return null;
end
$$;

create or replace trigger note_route
after insert or update or delete on actions.route
for each row execute function actions.note_route();
