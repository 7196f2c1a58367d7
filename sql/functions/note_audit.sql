-- Audits an action of ctl in its transaction. The console's functions (console_…), the only ones that the service's
-- role may call, audit themselves.
create or replace function note_audit(p_action text, p_subject text, p_detail json default null) returns void
language sql volatile
as $$
  select append_audit('ctl', current_setting('lead_intake.claimed', true), p_action, array[p_subject], p_detail);
$$;
