-- A node tells what it has spent of the keys it leases, and gets what it may spend until it asks again. See
-- src/limiter/lease.ts, whose constants of time these are: a grant counts for a second.
--
-- The bucket's row is the lock of its leases, and the rows are taken in the order of their hashes. What a node tells are
-- sums, so that a call whose answer was lost is told again and counted once. `confirmed` is what a call has answered for.
--
-- Of what is left, half is shared equally by the nodes that lease the key and half by their demand, less what the others
-- hold at this moment. A node that would get nothing has `unleased` tokens all the same while there are as many for each
-- node. What nobody holds stays in the bucket.
--
-- The bucket earns up to its burst; what it earns beyond that is spilled. A node that could not tell for more than a second
-- has taken an equal share meanwhile. What it tells then is paid from what was spilled since it last told, so that it is
-- owed only as far as it would be had it been told in time, whoever of several comes first. p_cut_off says that it was so,
-- because one that was not used is not asked for either.
--
-- p_owed is what the node believes is owed without the tokens it tells of. It counts when the row was lost.
--
-- It answers nothing while the tables are too large, which only a transaction that is held open for long makes them.
--
-- p_told_ms: tells the keys besides that other nodes lease and that were told within this time; null tells none, and
-- clears nothing away.
create or replace function lease_limits(
  p_node uuid, p_hash bigint[], p_per_minute float8[], p_burst float8[], p_nodes int[], p_unleased float8[],
  p_spent float8[], p_confirmed float8[], p_owed float8[], p_wanted float8[], p_cut_off boolean[], p_told_ms float8
) returns table (hash bigint, held float8, remaining float8)
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set synchronous_commit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz;
begin
  if not forget_limits() then
    return;
  end if;
  insert into limit_bucket (hash, owed, at, told_at)
  select a.hash, a.owed, service_clock(), service_clock() from unnest(p_hash, p_owed) as a (hash, owed) order by 1
  on conflict do nothing;
  perform from limit_bucket as b where b.hash = any(p_hash) order by b.hash for update;
  v_now := service_clock();

  return query
  with ask as (
    select * from
      unnest(p_hash, p_per_minute, p_burst, p_nodes, p_unleased, p_spent, p_confirmed, p_wanted, p_cut_off)
      as a (hash, per_minute, burst, nodes, unleased, spent, confirmed, wanted, cut_off)
  ),
  leased as (
    select a.*, b.owed, b.spilled, own.spilled as spilled_before,
      greatest(0, extract(epoch from v_now - b.at)::float8) as elapsed,
      a.cut_off and own.at < v_now - interval '1 second' as was_cut_off,
      own.at is null or own.at < v_now - interval '1 second' as is_news,
      greatest(0, a.spent - greatest(coalesce(own.spent, 0), a.confirmed)) as told,
      a.wanted + coalesce(own.demand * fading(v_now - own.at), 0) as demand,
      o.nodes as other_nodes, o.held as others_held, o.demand as others_demand
    from ask as a
    join limit_bucket as b on b.hash = a.hash
    left join limit_lease as own on own.hash = a.hash and own.node = p_node
    cross join lateral (
      select count(*) as nodes, coalesce(sum(l.held), 0) as held,
        coalesce(sum(l.demand * fading(v_now - l.at)), 0) as demand
      from limit_lease as l
      where l.hash = a.hash and l.node <> p_node and l.at > v_now - interval '1 second'
    ) as o
  ),
  earned as (
    select l.*, l.elapsed * l.per_minute / 60 as earned from leased as l
  ),
  spilling as (
    select e.*, e.spilled + greatest(0, e.earned - e.owed) as spills from earned as e
  ),
  paid as (
    select s.*,
      case when s.was_cut_off then least(s.told, greatest(0, s.spills - s.spilled_before)) else 0 end as pays
    from spilling as s
  ),
  reckoned as (
    select p.*, greatest(0, p.owed - p.earned) + p.told - p.pays as owes from paid as p
  ),
  part as (
    select r.*, r.burst - r.owes as remains,
      (r.burst - r.owes) * (
        0.5 / (r.other_nodes + 1)
        + 0.5 * coalesce(r.demand / nullif(r.demand + r.others_demand, 0), 1.0 / (r.other_nodes + 1))
      ) as fair,
      r.burst - r.owes - r.others_held as free
    from reckoned as r
  ),
  granted as (
    select p.*, greatest(
      0,
      floor(least(p.fair, p.free)),
      -- A token that is there is not left lying because it cannot be divided.
      case when p.wanted > 0 and p.free >= 1 then 1 else 0 end,
      least(p.unleased, floor(p.remains / p.nodes))
    ) as grants
    from part as p
  ),
  bucket as (
    update limit_bucket as b
    set owed = g.owes, spilled = g.spills - g.pays, at = v_now,
      told_at = case
        when b.told_at < v_now - case when g.is_news then interval '0.5 seconds' else interval '5 seconds' end then v_now
        else b.told_at
      end
    from granted as g
    where b.hash = g.hash
  ),
  lease as (
    insert into limit_lease as l (hash, node, spent, held, spilled, demand, at)
    select g.hash, p_node, g.spent, g.grants, g.spills - g.pays, g.demand, v_now from granted as g
    on conflict (hash, node) do update
    set spent = greatest(l.spent, excluded.spent), held = excluded.held, spilled = excluded.spilled,
      demand = excluded.demand, at = excluded.at
  )
  select g.hash, g.grants, g.remains from granted as g;

  if p_told_ms is null then
    return;
  end if;
  return query
  select b.hash, null::float8, null::float8 from limit_bucket as b
  where b.told_at > v_now - p_told_ms * interval '1 millisecond'
    and exists (
      select from limit_lease as l
      where l.hash = b.hash and l.node <> p_node and l.at > v_now - interval '10 seconds'
    )
  order by b.told_at desc
  limit 2000;
  -- What another call holds is in use.
  with idle as (
    select b.hash from limit_bucket as b
    where b.at < v_now - interval '3 minutes'
    order by b.hash limit 1000 for update skip locked
  ),
  gone as (
    delete from limit_lease as l using idle as i where l.hash = i.hash
  )
  delete from limit_bucket as b using idle as i where b.hash = i.hash;
  delete from limit_lease as l where l.at < v_now - interval '3 minutes' and l.node = p_node;
end
$$;

-- What a demand from so long ago still counts for.
create or replace function fading(p_age interval) returns float8
language sql immutable parallel safe
as $$ select exp(-greatest(0, extract(epoch from p_age)::float8) / 15) $$;
