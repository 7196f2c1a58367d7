-- Sets how many days a tenant's content is retained (null: forever) and audits it; returns false for an unknown tenant.
create or replace function set_retention(p_slug text, p_days int) returns boolean
language plpgsql
as $$
begin
  update tenant as t set retention_days = p_days where t.slug = p_slug;
  if not found then
    return false;
  end if;
  perform note_audit('tenant.retention', p_slug, json_build_object('days', p_days));
  return true;
end
$$;
