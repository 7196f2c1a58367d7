-- Appends the audit rows of one action, one per subject, with the same time.
--
-- The actor is the origin ("ctl", "console", or "digest" for a digest's link) and the role that logged in:
-- session_user, which neither set role nor security definer changes. p_claimed is the actor's own, unverified
-- identity.
--
-- A call locks the end of the chain until the transaction ends: call it last, so that the transaction waits for no other
-- lock while it holds this one. The intake never calls it.
create or replace function append_audit(
  p_origin text, p_claimed text, p_action text, p_subject text[], p_detail json
) returns void
language plpgsql
as $$
declare
  v_now timestamptz := service_clock();
  v_actor text := p_origin || ' ' || session_user;
  -- Bounded, because any caller can set it.
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

-- Returns an audit row's digest: SHA-256 of the previous digest in hex (empty for the first row) followed by the row as a
-- JSON array of id, time, actor, claimed, action, subject, and detail as text. src/store/operator/audit.ts computes the
-- same digest.
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
