-- What has to change in the tables for Citus, where a table is spread over machines by a column, here by tenant_id: each
-- unique key of a spread table has that column, and so has each foreign key between two of them. docs/scaling.md tells of it.
-- test/docs/scaling.test.ts applies this to a database with leads, without Citus, and looks at every key.
--
-- It is not applied by a migration.

-- Keys that leave out the tenant. An event's id is unique by its 80 random bits; what the key adds is the index.
alter table collision drop constraint collision_event_id_fkey, drop constraint collision_accepted_event_id_fkey;
alter table event drop constraint event_pkey, add primary key (tenant_id, event_id);
alter table outbox drop constraint outbox_pkey, add primary key (tenant_id, event_id);
alter table dead_letter drop constraint dead_letter_pkey, add primary key (tenant_id, event_id);
alter table submission drop constraint submission_pkey, add primary key (tenant_id, event_id);
alter table retention_left drop constraint retention_left_pkey, add primary key (tenant_id, event_id);

-- Tables that do not have the tenant: of an event.
alter table attempt add tenant_id int;
update attempt as a set tenant_id = e.tenant_id from event as e where e.event_id = a.event_id;
alter table attempt alter tenant_id set not null,
  drop constraint attempt_pkey, add primary key (tenant_id, event_id, number);

alter table actions.effect add tenant_id int;
update actions.effect as f set tenant_id = e.tenant_id from event as e where e.event_id = f.event_id;
alter table actions.effect alter tenant_id set not null,
  drop constraint effect_pkey, add primary key (tenant_id, event_id, route_id);

alter table collision add tenant_id int;
update collision as c set tenant_id = e.tenant_id from event as e where e.event_id = c.event_id;
alter table collision alter tenant_id set not null,
  drop constraint collision_pkey, add primary key (tenant_id, id),
  drop constraint collision_event_id_content_digest_key, add unique (tenant_id, event_id, content_digest),
  add foreign key (tenant_id, event_id) references event,
  add foreign key (tenant_id, accepted_event_id) references event;

-- And of a key or a campaign: the figures and the cursors.
do $$
declare
  v_table text;
begin
  foreach v_table in array array['refusal_total', 'duplicate_total', 'hour_total', 'retention_cursor'] loop
    execute format('alter table %I add tenant_id int', v_table);
    execute format('update %I as t set tenant_id = k.tenant_id from api_key as k where k.id = t.key_id', v_table);
    execute format('alter table %I alter tenant_id set not null, drop constraint %I', v_table, v_table || '_pkey');
  end loop;
end
$$;
alter table refusal_total add primary key (tenant_id, day, key_id, reason, field);
alter table duplicate_total add primary key (tenant_id, day, key_id);
alter table hour_total add primary key (tenant_id, hour, key_id);
alter table retention_cursor add primary key (tenant_id, key_id);

alter table campaign_charge add tenant_id int;
update campaign_charge as s set tenant_id = c.tenant_id from campaign as c where c.id = s.campaign_id;
alter table campaign_charge alter tenant_id set not null;

-- Where Citus is there: small tables that every machine looks up are copied to each, the others are spread. What is in
-- neither list stays on the coordinator: the audit's chain, beats, samples, plans, subscriptions, tombstones.
do $$
declare
  v_table text;
begin
  if to_regproc('create_distributed_table') is null then
    return;
  end if;
  foreach v_table in array array['tenant', 'campaign', 'api_key', 'form', 'area', 'actions.route'] loop
    execute format('select create_reference_table(%L)', v_table);
  end loop;
  execute $q$select create_distributed_table('event', 'tenant_id')$q$;
  foreach v_table in array array[
    'collision', 'outbox', 'attempt', 'dead_letter', 'submission', 'actions.effect', 'retention_left',
    'retention_cursor', 'refusal_total', 'duplicate_total', 'hour_total', 'campaign_charge', 'unknown_area_seen'
  ] loop
    execute format('select create_distributed_table(%L, ''tenant_id'', colocate_with => ''event'')', v_table);
  end loop;
end
$$;
