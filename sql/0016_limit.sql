-- The limits that several nodes share: what is left of the buckets that are in use, and which node holds how much of it.
--
-- Unlogged, because a request is not to cost a byte of WAL: after a crash and on a new primary the tables are empty, and
-- the nodes tell what they know. Few rows and short-lived: only keys that are used often get here, so many a node, and lease_limits() clears
-- away what has not been asked for in minutes. Names of keys and addresses are nowhere: `hash` is made under a secret.

-- The secret. One row, made by the first node that needs it.
create unlogged table limit_seed (
  seed uuid not null default gen_random_uuid(),
  one boolean primary key default true check (one)
);

-- The processes that are there, and the surfaces that each serves.
create unlogged table limit_node (
  node uuid primary key,
  surfaces text[] not null,
  seen_at timestamptz not null
) with (fillfactor = 50);

create unlogged table limit_bucket (
  hash bigint primary key,
  -- Tokens that were spent and not earned back; above the burst when more were spent than there were.
  owed float8 not null default 0,
  -- What was earned while nothing was owed, of all time: it pays what is told later of that time.
  spilled float8 not null default 0,
  -- When that was reckoned.
  at timestamptz not null,
  -- When the other nodes were last told that it is in use.
  told_at timestamptz not null
) with (fillfactor = 50);

create unlogged table limit_lease (
  hash bigint not null,
  node uuid not null,
  -- Tokens that the node has told of since it first leased the key.
  spent float8 not null,
  -- Tokens that it may spend, for a second from `at` on.
  held float8 not null,
  -- What the bucket had spilled when the node last told.
  spilled float8 not null,
  -- How much it is asked for: requests, each counting for less by the time.
  demand float8 not null,
  at timestamptz not null,
  primary key (hash, node)
) with (fillfactor = 50);
