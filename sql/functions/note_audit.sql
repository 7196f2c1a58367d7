-- Notes what an operator did with the command, in the transaction that does it. What the console does is noted by the
-- functions console_…, which alone the service's role may call.
create or replace function note_audit(p_action text, p_subject text, p_detail json default null) returns void
language sql volatile
as $$
  select append_audit('ctl', current_setting('lead_intake.claimed', true), p_action, array[p_subject], p_detail);
$$;
