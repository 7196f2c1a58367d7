-- The console shows beside an event, a submission or a term who has done what to it.
create index audit_subject on audit (subject, id);
