-- Tombstones, which an erasure leaves for about a minute so that posts in progress are erased too
-- (functions/register_erasure.sql, functions/accept.sql).

-- HMAC-SHA-256 of the erased person's contacts. Only the tables' owner can read the HMAC's key, so nobody else can find
-- the contacts by trial.
create table tombstone (
  run uuid not null,
  digest bytea not null,
  -- Posts that arrived before this time are erased; a later post is a new lead.
  posted_until timestamptz not null,
  -- By this time, all such posts are committed or refused.
  expires_at timestamptz not null,
  primary key (digest, run)
);
-- No statistics, as in event.
alter table tombstone alter column digest set statistics 0;

-- The HMAC's key, as its two pads (RFC 2104). Generated here and never shown.
create table tombstone_key (
  is_only boolean primary key default true check (is_only),
  inner_pad bytea not null check (octet_length(inner_pad) = 64),
  outer_pad bytea not null check (octet_length(outer_pad) = 64)
);
-- No statistics, as in event.
alter table tombstone_key
  alter column inner_pad set statistics 0,
  alter column outer_pad set statistics 0;
do $$
declare
  -- 32 bytes from the server's cryptographic random numbers: each UUID has 122 random bits.
  v_key bytea := sha256(
    uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
      || uuid_send(gen_random_uuid())
  ) || decode(repeat('00', 32), 'hex');
  v_inner bytea := v_key;
  v_outer bytea := v_key;
begin
  for v_at in 0..63 loop
    v_inner := set_byte(v_inner, v_at, get_byte(v_key, v_at) # 54);
    v_outer := set_byte(v_outer, v_at, get_byte(v_key, v_at) # 92);
  end loop;
  insert into tombstone_key (inner_pad, outer_pad) values (v_inner, v_outer);
end
$$;
