-- The actions tier's own: where each tenant's leads go, and which effects are done (DECISIONS, Delivery). The
-- service's role cannot see this schema; the role of the actions process sees nothing of the leads.

-- Group roles: a login role is made a member of one (create role intake login in role lead_service). They belong
-- to the whole server, so another database may have made them already, even at this moment.
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

create schema actions;

-- Whether a live tenant's leads have somewhere to go; kept by a trigger on actions.route, for the service, which
-- cannot read the routes.
alter table tenant add column has_route boolean not null default false;
alter table tenant add constraint tenant_id_sandbox unique (id, sandbox);

create table actions.route (
  tenant_id int primary key,
  -- Always false, so that the foreign key finds no sandbox tenant, whoever writes and in whatever order: neither
  -- can one get a route, nor can a tenant with a route become one.
  sandbox boolean not null generated always as (false) stored,
  crm_url text check (crm_url ~ '^https://[^/?#@\s]+([/?][^#\s]*)?$' and length(crm_url) <= 2000),
  -- Signs the webhook, so it is kept as it is.
  crm_secret text check (crm_secret ~ '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$'),
  -- After a rotation the secret before it signs too, until the receiver has changed over.
  crm_secret_before text check (crm_secret_before ~ '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$'),
  crm_secret_before_until timestamptz,
  -- One address, ASCII, with nothing that could be taken for a second one.
  email text check (email ~ '^[!#$%&''*+/=?^_`{|}~.A-Za-z0-9-]{1,64}@[A-Za-z0-9.-]{1,253}$'),
  changed_at timestamptz not null default now(),
  constraint a_sandbox_tenant_has_no_route foreign key (tenant_id, sandbox) references tenant (id, sandbox),
  check ((crm_url is null) = (crm_secret is null)),
  check ((crm_secret_before is null) = (crm_secret_before_until is null)),
  check (crm_secret_before is null or crm_secret is not null),
  -- A route leads somewhere; one that no longer does is deleted.
  check (crm_url is not null or email is not null)
);

-- What is done for an event: a row for each effect that was ever begun. No personal data.
create table actions.effect (
  event_id text collate "C" not null,
  effect text not null check (effect in ('crm', 'email')),
  -- Times it was begun.
  attempts int not null default 1,
  -- Who is at it, and until when nobody else may begin it.
  lease uuid,
  lease_until timestamptz,
  done_at timestamptz,
  -- Why the last attempt failed, in a word.
  reason text,
  primary key (event_id, effect),
  check ((lease is null) = (lease_until is null)),
  check (done_at is null or lease is null)
) with (fillfactor = 80);
