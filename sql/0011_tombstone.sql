-- What an erasure leaves for a minute, so that a post which was under way when it ended is erased with the rest
-- (functions/register_erasure.sql, accept).

-- HMAC-SHA-256 of what makes a post the erased person's: an address, a number. The table alone tells nobody which, however
-- many are tried, because the key is in another one, and nobody but the owner reads either.
create table tombstone (
  run uuid not null,
  digest bytea not null,
  -- Posts that arrived until then are the person's from before the erasure; a later one is a new lead.
  posted_until timestamptz not null,
  -- By then whatever arrived before has been committed or given up.
  expires_at timestamptz not null,
  primary key (digest, run)
);

-- The key of those digests, with both pads of the HMAC (RFC 2104) applied. Made here, and never shown.
create table tombstone_key (
  is_only boolean primary key default true check (is_only),
  inner_pad bytea not null check (octet_length(inner_pad) = 64),
  outer_pad bytea not null check (octet_length(outer_pad) = 64)
);
do $$
declare
  -- 32 bytes from the strong random numbers of the server: each of the four has 122 bits of chance.
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
