-- Adds or replaces plans by slug in one transaction, audits each change, and returns the changes. Slugs must differ.
create or replace function put_plans(
  p_slug text[], p_name text[], p_customer text[], p_amount_cents int[], p_interval text[], p_body text[]
)
returns table (slug text, change text)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_put record;
begin
  for v_put in
    insert into plan as p (slug, name, customer, amount_cents, billing_interval, body, updated_at)
    select g.slug, g.name, g.customer, g.amount_cents, g.billing_interval, g.body::json, service_clock()
    from unnest(p_slug, p_name, p_customer, p_amount_cents, p_interval, p_body)
      as g (slug, name, customer, amount_cents, billing_interval, body)
    order by g.slug
    on conflict (slug) do update set
      name = excluded.name, customer = excluded.customer, amount_cents = excluded.amount_cents,
      billing_interval = excluded.billing_interval, body = excluded.body, updated_at = excluded.updated_at
    where p.body::text <> excluded.body::text
    -- xmax is 0 for a row that this statement inserted.
    returning p.slug, case when p.xmax = 0 then 'added' else 'changed' end as change, p.amount_cents
  loop
    perform note_audit(
      'plan.put', v_put.slug,
      json_build_object('change', v_put.change, 'amount_cents', v_put.amount_cents)
    );
    slug := v_put.slug;
    change := v_put.change;
    return next;
  end loop;
end
$$;
