-- Whether a submission is held with this verdict and nobody has released or dismissed it. With the verdict 'spam', it is to
-- be reviewed: every list and count of held submissions shows these. Those with the verdict 'honeypot' are counted apart,
-- because people cannot see the field that was filled in.
--
-- The planner inlines this function, so that it can use the indexes submission_to_judge.
create or replace function is_unreviewed(p_submission submission, p_verdict text) returns boolean
language sql immutable
as $$
  select p_submission.verdict = p_verdict and p_submission.verdict <> 'clean'
    and p_submission.released_at is null and p_submission.dismissed_at is null;
$$;
