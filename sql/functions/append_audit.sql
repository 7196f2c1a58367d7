-- Adds rows to the audit, one for each subject, at one time and as one deed, so that what was done at once is found
-- together.
--
-- Who acted is the role that has logged in (session_user: neither set role nor a function that runs with its owner's
-- rights changes it), after the word for the way he came: "ctl", or "console" and, for the link of
-- a digest, "digest" for the functions that the service's role may call. What he says of himself stands beside it, as claimed.
--
-- Whoever adds waits here for the one before to commit or to give up: add at the end of what is done, so that no lock
-- is waited for while this one is held. Nothing of the intake adds to the audit.
create or replace function append_audit(
  p_way text, p_claimed text, p_action text, p_subject text[], p_detail json
) returns void
language plpgsql
as $$
declare
  v_now timestamptz := service_clock();
  v_actor text := p_way || ' ' || session_user;
  -- It is said by whoever acts, and need not be long.
  v_claimed text := left(nullif(p_claimed, ''), 200);
  v_subject text;
  v_id bigint;
  v_digest bytea;
begin
  perform ensure_synchronous_commit();
  select h.id, h.digest into strict v_id, v_digest from audit_head as h for update;
  foreach v_subject in array p_subject loop
    v_id := v_id + 1;
    v_digest := audit_digest(v_digest, v_id, v_now, v_actor, v_claimed, p_action, v_subject, p_detail);
    insert into audit (id, at, actor, claimed, action, subject, detail, digest)
    values (v_id, v_now, v_actor, v_claimed, p_action, v_subject, p_detail, v_digest);
  end loop;
  update audit_head set id = v_id, digest = v_digest;
end
$$;

-- The digest of a row of the audit: SHA-256 over the digest of the row before, in hex (none: an empty text), and the
-- row as the text of a JSON array: number, time, actor, what is claimed, action, subject, detail as text. Whoever has
-- the rows can compute it in any language (src/store/operator/audit_chain.ts does).
create or replace function audit_digest(
  p_before bytea, p_id bigint, p_at timestamptz, p_actor text, p_claimed text, p_action text, p_subject text,
  p_detail json
) returns bytea
language sql stable
as $$
  select sha256(convert_to(
    encode(p_before, 'hex') || json_build_array(
      p_id, to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), p_actor, p_claimed, p_action, p_subject,
      p_detail::text
    )::text,
    'UTF8'
  ));
$$;
