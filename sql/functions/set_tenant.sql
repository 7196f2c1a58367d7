-- Changes those of a tenant's name, time_zone, digest_at and digest_actions that p_changes contains ("digest_at": null
-- ends the digest). Audits the change, without the name, which may be a person's. No row for an unknown tenant. The
-- caller must check the time zone.
create or replace function set_tenant(p_slug text, p_changes jsonb)
returns table (name text, time_zone text, digest_at time)
language plpgsql
as $$
#variable_conflict use_column
begin
  return query
  update tenant as t set
    name = coalesce(p_changes ->> 'name', t.name),
    time_zone = coalesce(p_changes ->> 'time_zone', t.time_zone),
    digest_actions = coalesce((p_changes ->> 'digest_actions')::boolean, t.digest_actions),
    digest_at = case when p_changes ? 'digest_at' then (p_changes ->> 'digest_at')::time else t.digest_at end
  where t.slug = p_slug
  returning t.name, t.time_zone, t.digest_at;
  if found then
    perform note_audit(
      'tenant.set', p_slug,
      (p_changes - 'name' || case when p_changes ? 'name' then '{"name": "changed"}' else '{}' end::jsonb)::json
    );
  end if;
end
$$;
