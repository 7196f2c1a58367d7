-- The audit as a chain: each row has the digest over the digest of the row before and its own content, so that nobody
-- changes, removes or adds one unseen (functions/append_audit.sql, ctl audit verify).

alter table audit
  -- What whoever acted says of himself, and nobody has checked: the client's address, the account of the machine.
  add column claimed text,
  add column digest bytea;
-- Numbered by the chain, so that a number is never left out.
alter table audit alter column id drop identity;

-- The chain's end. Whoever adds to it locks this row, and nobody else does.
create table audit_head (
  is_only boolean primary key default true check (is_only),
  id bigint not null,
  -- Empty before the first row.
  digest bytea not null
);

-- What was noted so far, as append_audit would have.
do $$
declare
  v_digest bytea := '';
  v_id bigint := 0;
  v_row record;
begin
  for v_row in select * from audit order by id loop
    v_id := v_id + 1;
    v_digest := sha256(convert_to(encode(v_digest, 'hex') || json_build_array(
      v_id, to_char(v_row.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), v_row.actor, null,
      v_row.action, v_row.subject, v_row.detail::text
    )::text, 'UTF8'));
    update audit set id = v_id, digest = v_digest where id = v_row.id;
  end loop;
  insert into audit_head (id, digest) values (v_id, v_digest);
end
$$;
alter table audit alter column digest set not null, add check (octet_length(digest) = 32);
