-- Adds audit rows, one per subject, with one time for one action.
--
-- The actor is the origin ("ctl", "console", or "digest" for a digest's link) and the role that logged in:
-- session_user, which neither set role nor security definer changes. p_claimed is the actor's own, unverified
-- statement.
--
-- Concurrent calls wait for each other's transaction to end: call it last, so that no other lock is awaited
-- meanwhile. The intake never calls it.
create or replace function append_audit(
  p_way text, p_claimed text, p_action text, p_subject text[], p_detail json
) returns void
language plpgsql
as $$
declare
  v_now timestamptz := service_clock();
  v_actor text := p_way || ' ' || session_user;
  -- Any caller can set it, so it is bounded.
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

-- The digest of an audit row: SHA-256 over the previous digest in hex (empty for the first) and the row as a JSON
-- array of id, time, actor, claimed, action, subject, and detail as text; src/store/operator/audit.ts computes the
-- same.
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
