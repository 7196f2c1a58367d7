-- Whether a tenant, or its destinations of a kind, is paused.
create or replace function actions.is_paused(p_tenant tenant, p_kind text) returns boolean
language sql stable
as $$
  select p_tenant.paused_at is not null or exists (
    select from actions.pause as p where p.tenant_id = p_tenant.id and p.kind = p_kind
  );
$$;

-- Returns the pauses of a tenant or, if p_tenant_id is null, of all. kind is '' for the whole tenant. waiting: how many
-- events wait because of the pause, among the tenant's first pending ones; waiting_more: whether the tenant has more
-- pending events than were looked at. The pauses share p_waiting_max events equally, one each at least.
--
-- The service's role cannot read the destinations' pauses.
create or replace function pauses(p_tenant_id int, p_waiting_max int)
returns table (
  tenant text, kind text, paused_at timestamptz, reason text, waiting int, waiting_more boolean
)
language sql stable
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
  with listed as materialized (
    select p.*, greatest(p_waiting_max / greatest(count(*) over (), 1), 1) as looked_max
    from (
      select t.id, t.slug, '' as kind, t.paused_at, t.pause_reason as reason
      from tenant as t where t.paused_at is not null and t.id = coalesce(p_tenant_id, t.id)
      union all
      select p.tenant_id, t.slug, p.kind, p.paused_at, p.reason
      from actions.pause as p join tenant as t on t.id = p.tenant_id where p.tenant_id = coalesce(p_tenant_id, p.tenant_id)
    ) as p
  )
  select p.slug, p.kind, p.paused_at, p.reason, least(w.waiting, p.looked_max)::int, w.looked > p.looked_max
  from listed as p
  cross join lateral (
    select count(*) as looked,
      count(*) filter (
        where p.kind = '' or o.reason = 'paused' or strpos('; ' || o.reason, '; ' || p.kind || ' waiting: paused') > 0
      ) as waiting
    from (
      select o.reason from outbox as o where o.tenant_id = p.id order by o.due_at limit p.looked_max + 1
    ) as o
  ) as w
  order by p.slug, p.kind;
$$;

-- Pauses a tenant's destinations of these kinds, or all its deliveries for the kind '', and audits it. Posts are still
-- accepted. Events wait without spending an attempt; those that are being sent at this moment arrive. A pause that already
-- exists only gets the new reason, if there is one. Returns one row per kind with when its pause began; no row for an unknown
-- tenant.
create or replace function pause_tenant(
  p_slug text, p_kinds text[], p_reason text, p_origin text default 'ctl',
  p_claimed text default current_setting('lead_intake.claimed', true)
)
returns table (kind text, paused_at timestamptz, reason text, is_unchanged boolean)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_id int;
  v_changed text[] := '{}';
begin
  select t.id into v_id from tenant as t where t.slug = p_slug for no key update;
  if not found then
    return;
  end if;
  foreach kind in array p_kinds loop
    if kind = '' then
      update tenant as t
      set paused_at = coalesce(t.paused_at, service_clock()), pause_reason = coalesce(p_reason, t.pause_reason)
      where t.id = v_id and (t.paused_at is null or t.pause_reason is distinct from coalesce(p_reason, t.pause_reason));
    else
      insert into actions.pause as p (tenant_id, kind, paused_at, reason) values (v_id, kind, service_clock(), p_reason)
      on conflict (tenant_id, kind) do update set reason = excluded.reason
      where p.reason is distinct from coalesce(excluded.reason, p.reason);
    end if;
    if found then
      v_changed := v_changed || kind;
    end if;
  end loop;
  return query
  select p.kind, p.paused_at, p.reason, p.kind <> all (v_changed)
  from pauses(v_id, 0) as p where p.kind = any (p_kinds);
  perform note_pause('tenant.pause', p_slug, v_changed, p_reason, p_origin, p_claimed);
end
$$;

-- Ends pauses, as pause_tenant begins them, and makes the waiting events due at once. paused_at: when the pause had begun;
-- null if there was none, which changes nothing.
create or replace function resume_tenant(
  p_slug text, p_kinds text[], p_origin text default 'ctl',
  p_claimed text default current_setting('lead_intake.claimed', true)
)
returns table (kind text, paused_at timestamptz, reason text, is_unchanged boolean)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_tenant tenant;
  v_changed text[] := '{}';
begin
  select t.* into v_tenant from tenant as t where t.slug = p_slug for no key update;
  if not found then
    return;
  end if;
  foreach kind in array p_kinds loop
    if kind = '' then
      paused_at := v_tenant.paused_at;
      reason := v_tenant.pause_reason;
      update tenant as t set paused_at = null, pause_reason = null where t.id = v_tenant.id and t.paused_at is not null;
    else
      delete from actions.pause as p where p.tenant_id = v_tenant.id and p.kind = resume_tenant.kind
      returning p.paused_at, p.reason into paused_at, reason;
    end if;
    is_unchanged := paused_at is null;
    if not is_unchanged then
      v_changed := v_changed || kind;
    end if;
    return next;
  end loop;
  if v_changed <> '{}' then
    -- Events that were claimed before the pause wait for its end too.
    perform actions.wake_waiting(v_tenant.id, true);
    perform notify_outbox('');
    perform note_pause('tenant.resume', p_slug, v_changed, null, p_origin, p_claimed);
  end if;
end
$$;

-- Audits changed pauses, if there are any.
create or replace function note_pause(
  p_action text, p_slug text, p_kinds text[], p_reason text, p_origin text, p_claimed text
) returns void
language sql volatile
as $$
  select append_audit(p_origin, p_claimed, p_action, array[p_slug], nullif(jsonb_strip_nulls(jsonb_build_object(
    'destinations', nullif(array_remove(p_kinds, ''), '{}'), 'reason', p_reason
  )), '{}')::json)
  where p_kinds <> '{}';
$$;

-- The console's variants; p_claimed is the operator's name.
create or replace function console_pause_tenant(p_slug text, p_kinds text[], p_reason text, p_claimed text)
returns table (kind text, paused_at timestamptz, reason text, is_unchanged boolean)
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select * from pause_tenant(p_slug, p_kinds, p_reason, 'console', p_claimed) $$;

create or replace function console_resume_tenant(p_slug text, p_kinds text[], p_claimed text)
returns table (kind text, paused_at timestamptz, reason text, is_unchanged boolean)
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$ select * from resume_tenant(p_slug, p_kinds, 'console', p_claimed) $$;
