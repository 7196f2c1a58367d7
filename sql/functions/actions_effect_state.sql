-- Returns an effect's state for operators: done, marked (as done, without sending it), busy (being sent), waiting (not
-- attempted, paused, or its CRM makes it wait), refused (for
-- good; sent again only after a replay) or failed (to be repeated).
create or replace function actions.effect_state(p_effect actions.effect) returns text
language sql stable
as $$
  select case
    when p_effect.is_done then case when p_effect.marked_by is null then 'done' else 'marked' end
    when p_effect.lease_until > service_clock() then 'busy'
    when p_effect.is_refused then 'refused'
    when p_effect.reason in ('paused', 'crm_unauthorized', 'crm_suspended', 'crm_rate', 'crm_unfinished', 'recipe_unusable') then 'waiting'
    when p_effect.settled_at is not null then 'failed'
    else 'waiting'
  end;
$$;
