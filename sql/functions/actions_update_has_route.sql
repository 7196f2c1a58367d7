-- Maintains tenant.has_route, and wakes delivery when a route is added or changed, so that pending events are sent at
-- once.
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
  if tg_op <> 'DELETE' then
    -- Otherwise, events without a route might be retried only an hour later. Skips rows that are being sent.
    update outbox as o set due_at = service_clock()
    from (
      select o.event_id from outbox as o
      where o.tenant_id = new.tenant_id and o.reason = 'no_route' and o.lease is null and o.due_at > service_clock()
      for update skip locked
    ) as w
    where o.event_id = w.event_id;
    perform notify_outbox('');
  end if;
  return null;
end
$$;

create or replace trigger update_has_route
after insert or update or delete on actions.route
for each row execute function actions.update_has_route();
