-- Maintains tenant.has_route, and wakes delivery when a route is added or changed, so that pending events are sent at
-- once: a changed CRM route is no longer suspended. Removes old tokens of credentials that no route uses.
create or replace function actions.update_has_route() returns trigger
language plpgsql
set enable_seqscan = off
as $$
begin
  update tenant as t
  set has_route = exists (select from actions.route as r where r.tenant_id = t.id)
  where t.id = any (array[
    case when tg_op <> 'INSERT' then old.tenant_id end,
    case when tg_op <> 'DELETE' then new.tenant_id end
  ]);
  if tg_op = 'UPDATE' then
    delete from actions.suspension as s where s.tenant_id = new.tenant_id and s.route_id = new.id;
  end if;
  -- Otherwise, events might be retried only an hour later.
  perform actions.wake_waiting(coalesce(new.tenant_id, old.tenant_id));
  if tg_op <> 'DELETE' then
    -- Events that are due already were not claimed without a route.
    perform notify_outbox('');
  end if;
  if tg_op <> 'INSERT' then
    delete from actions.token as k
    where k.credential = old.credential and k.changed_at < service_clock() - interval '30 days'
      and not exists (select from actions.route as r where r.credential = k.credential);
  end if;
  return null;
end
$$;

create or replace trigger update_has_route
after insert or update or delete on actions.route
for each row execute function actions.update_has_route();
