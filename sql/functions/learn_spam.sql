-- Replaces the spam score's corrections.
create or replace function learn_spam(p_learned_from text, p_hashes int[], p_ham int[], p_spam int[]) returns void
language sql volatile
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  update spam_lessons set learned_from = p_learned_from, hashes = p_hashes, ham = p_ham, spam = p_spam
$$;

-- Removes all labels, so that the next run discards the corrections. Audits this and returns the number of labels.
create or replace function forget_spam_learning() returns int
language plpgsql
as $$
declare
  v_count int;
begin
  update submission as s set label = null, labelled_at = null where s.label is not null;
  get diagnostics v_count = row_count;
  perform append_audit(
    'ctl', current_setting('lead_intake.claimed', true), 'spam.forget', array[v_count::text], null
  );
  return v_count;
end
$$;
