-- Notes what an operator did, in the transaction that does it.
create or replace function note_audit(p_actor text, p_action text, p_subject text, p_detail json default null)
returns void
language sql volatile
as $$
  insert into audit (at, actor, action, subject, detail)
  values (service_clock(), p_actor, p_action, p_subject, p_detail);
$$;
