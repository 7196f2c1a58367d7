-- All rights. Every migration applies this file last, which undoes manual grants to the two groups or to PUBLIC; grants
-- to other roles stay.
--
-- Only the owner may use what is not in the list at the end. IF YOU ADD A TABLE OR A FUNCTION, list it there if the
-- service or the actions process needs it, and always in test/store/rights.test.ts, which tests each one with each
-- role.
--
-- lead_service is the service's group, lead_actions that of the actions process. Neither may write to tables: they call
-- functions that run as the owner (security definer), with search_path pinned and pg_temp last. Functions that only read
-- tables that the caller may read run as the caller.

-- The groups; make a login role a member of one (create role intake login in role lead_service). Roles belong to the
-- whole server, so a migration of another database may be creating them at the same time.
do $$
declare
  v_role text;
begin
  foreach v_role in array array['lead_service', 'lead_actions'] loop
    if not exists (select from pg_roles where rolname = v_role) then
      begin
        execute format('create role %I nologin', v_role);
      exception
        when duplicate_object or unique_violation then null;
        when insufficient_privilege then
          raise exception 'The role % does not exist and % may not create it; as a role that may, run: create role lead_service nologin; create role lead_actions nologin;',
            v_role, current_user
            using errcode = 'insufficient_privilege';
      end;
    end if;
  end loop;
end
$$;

-- Starts without rights: a database restored from a dump or created from a template has default rights.
do $$
begin
  if (select pg_has_role(d.datdba, 'usage') from pg_database as d where d.datname = current_database()) then
    execute format('revoke all on database %I from public, lead_service, lead_actions cascade', current_database());
    execute format('grant connect on database %I to lead_service, lead_actions', current_database());
  end if;
  -- PUBLIC may still look up names in the schema, for other roles' objects.
  revoke create on schema public from public cascade;
  -- Before PostgreSQL 15, the superuser owns the schema, so that another role's revoke has no effect.
  if exists (
    select from pg_namespace as n cross join aclexplode(n.nspacl) as a
    where n.nspname = 'public' and a.grantee = 0 and a.privilege_type = 'CREATE'
  ) then
    raise exception
      'Everyone may create objects in the schema public, and % may not change that; as a superuser, in this database, run: alter schema public owner to %;',
      current_user, quote_ident(current_user)
      using errcode = 'insufficient_privilege';
  end if;
end
$$;
revoke all on schema public from lead_service, lead_actions cascade;
revoke all on schema actions from public, lead_service, lead_actions cascade;
-- All objects except those of other owners and of extensions (such as pg_stat_statements).
do $$
declare
  v_object record;
begin
  for v_object in
    with object as (
      select 'pg_class'::regclass as catalog, c.oid, c.relowner as owner, c.relnamespace as namespace,
        case c.relkind when 'S' then 'sequence' else 'table' end as kind, c.oid::regclass::text as name
      from pg_class as c where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      union all
      select 'pg_proc'::regclass, p.oid, p.proowner, p.pronamespace, 'routine', p.oid::regprocedure::text from pg_proc as p
      union all
      select 'pg_type'::regclass, t.oid, t.typowner, t.typnamespace, 'type', t.oid::regtype::text
      from pg_type as t where t.typtype in ('d', 'e', 'r')
    )
    select o.kind, o.name from object as o
    where o.namespace in ('public'::regnamespace, 'actions'::regnamespace) and pg_has_role(o.owner, 'usage')
      and not exists (
        select from pg_depend as d where d.classid = o.catalog and d.objid = o.oid and d.deptype = 'e'
      )
  loop
    execute format('revoke all on %s %s from public, lead_service, lead_actions cascade', v_object.kind, v_object.name);
  end loop;
end
$$;
-- Applies to objects that this role creates later, in any schema and in ours.
do $$
declare
  v_kind text;
begin
  foreach v_kind in array array['tables', 'sequences', 'routines', 'types'] loop
    execute format('alter default privileges revoke all on %s from public, lead_service, lead_actions', v_kind);
    execute format(
      'alter default privileges in schema public, actions revoke all on %s from public, lead_service, lead_actions', v_kind
    );
  end loop;
end
$$;

-- The list.
grant usage on schema public to lead_service, lead_actions;
grant usage on schema actions to lead_actions;

-- For the service's lookups and the console.
grant select on
  event, search_entry, collision, submission, spam_lessons, tenant, outbox, attempt, dead_letter, area, unknown_area, form, plan, ip_limit, audit, audit_head,
  lead_return, campaign, campaign_spend, hour_total, hour_rolled, post_log, duplicate_total, refusal_total, minute_sample, schema_file, schema_release
to lead_service;
grant select (
  id, tenant_id, campaign_id, surface, label, digest, last4, created_at, last_used_at, revoked_at, suspended_at,
  limit_per_minute, limit_burst, limit_until
) on api_key to lead_service;

-- effects_of and route_states return parts of the routes, which the service cannot read directly.
grant execute on function
  service_clock, event_id_at, event_id_time, search_block, hour_figures, is_unreviewed, due_tenants, delivery_status, pauses, oldest_waiting,
  accept, claim_outbox, settle_outbox, limit_waits, beat, trim_heartbeat,
  add_refusals, add_duplicates, add_posts, add_minute_sample,
  fold_counts, roll_up_hours, expire_content, expire_posts, fill_search_entry,
  forget_tombstones, wake_waiting_events,
  begin_checkout, open_checkout, fail_checkout, apply_provider_event, forget_checkouts,
  effects_of, route_states, console_send_again, console_replay_dead, console_release_submission, console_dismiss_submission,
  console_mark_spam, console_return_lead, learn_spam, forget_spam_lessons, console_pause_tenant, console_resume_tenant,
  console_confirm_area, console_accept_collision, console_dismiss_collision, held_link, release_held_link
to lead_service;

grant select on schema_file, schema_release to lead_actions;
grant execute on function actions.begin_effects, actions.settle_effect, actions.save_progress, actions.routes_of,
  actions.begin_token, actions.settle_token, actions.begin_digest, actions.settle_digest, actions.earlier_posts
to lead_actions;
