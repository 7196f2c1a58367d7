-- Audits an action by ctl in the action's transaction. Functions that the console uses too call append_audit instead.
create or replace function note_audit(p_action text, p_subject text, p_detail json default null) returns void
language sql volatile
as $$
  select append_audit('ctl', current_setting('lead_intake.claimed', true), p_action, array[p_subject], p_detail);
$$;
