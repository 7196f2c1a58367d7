-- Settles what became of sends, a batch at once: delivered and dead rows leave the outbox, the others wait for
-- their next attempt, and every attempt leaves a row.
--
-- A row that has been claimed by somebody else meanwhile (the lease ran out) is theirs to settle, unless it was
-- delivered: delivered is delivered, even when the loss has made it dead. Its attempt was recorded as lost by the
-- claim, and counted: all but that is put right here. What an operator has sent again since is not delivered by what
-- was made before.
--
-- Each claim has a lease of its own, so that a row which was released and claimed again by the same process is told
-- from the row before. An event that was erased meanwhile has no row any more: its attempt is recorded, without the
-- reason. A batch may come twice, when its outcome was unknown, and so may an attempt within one: the second changes nothing.
create or replace function settle_outbox(
  p_lease text[],        -- of the claim that the row came with
  p_event_id text[],
  p_number int[],
  p_kind text[],      -- delivered | retry | dead | released (claimed, but never sent)
  p_outcome text[],
  p_status int[],
  p_reason text[],
  p_duration_ms int[],
  p_spent text[],        -- t | f
  p_retry_ms float8[]
)
returns void
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := service_clock();
  v_delivered int;
  v_dead int;
begin
  insert into attempt as a (event_id, number, at, outcome, status, reason, duration_ms, spent)
  select distinct on (s.event_id, s.number)
    s.event_id, s.number, v_now - make_interval(secs => s.duration_ms / 1000.0), s.outcome, s.status,
    case
      when s.reason is null then null
      when exists (select from event as e where e.event_id = s.event_id and e.removed_at is not null) then null
      else s.reason
    end,
    s.duration_ms, s.spent::boolean
  from unnest(p_event_id, p_number, p_kind, p_outcome, p_status, p_reason, p_duration_ms, p_spent)
    as s (event_id, number, kind, outcome, status, reason, duration_ms, spent)
  where s.kind <> 'released'
  order by s.event_id, s.number, s.kind <> 'delivered'
  on conflict (event_id, number) do update
    set at = excluded.at, outcome = excluded.outcome, status = excluded.status, reason = excluded.reason,
      duration_ms = excluded.duration_ms
    where a.outcome = 'lost' or (excluded.outcome = 'delivered' and a.outcome <> 'delivered');

  with gone as (
    delete from outbox as o
    using (
      select s.event_id, s.lease::uuid, s.number, s.kind, coalesce(s.reason, s.status::text) as reason
      from unnest(p_event_id, p_lease, p_number, p_kind, p_reason, p_status)
        as s (event_id, lease, number, kind, reason, status)
      where s.kind in ('delivered', 'dead')
    ) as s
    where o.event_id = s.event_id
      and case s.kind when 'delivered' then s.number > o.sent_before else o.lease = s.lease and o.made = s.number end
    returning o.event_id, o.tenant_id, o.sent_before, s.kind, s.reason
  ),
  buried as (
    insert into dead_letter (event_id, tenant_id, died_at, reason, sent_before)
    select g.event_id, g.tenant_id, v_now, g.reason, g.sent_before from gone as g where g.kind = 'dead'
  )
  select count(*) filter (where g.kind = 'delivered'), count(*) filter (where g.kind = 'dead')
  into v_delivered, v_dead
  from gone as g;

  if v_delivered < cardinality(array_positions(p_kind, 'delivered')) then
    with redeemed as (
      delete from dead_letter as d
      using unnest(p_event_id, p_number, p_kind) as s (event_id, number, kind)
      where d.event_id = s.event_id and s.kind = 'delivered' and s.number > d.sent_before
      returning d.event_id
    )
    insert into outbox_tally (state, delta)
    select 'dead', -n.count from (select count(*) from redeemed) as n (count) where n.count > 0;
  end if;

  if v_delivered + v_dead > 0 then
    insert into outbox_tally (state, delta) values ('pending', -(v_delivered + v_dead));
  end if;
  if v_dead > 0 then
    insert into outbox_tally (state, delta) values ('dead', v_dead);
  end if;

  if p_kind && array['retry', 'released'] then
    update outbox as o
    set lease = null, due_at = v_now + make_interval(secs => s.retry_ms / 1000.0),
      made = o.made - (s.kind = 'released')::int, spent = o.spent - (not s.spent::boolean)::int,
      -- Released without a reason, it keeps the one before.
      reason = coalesce(s.reason, s.status::text, case when s.kind = 'released' then o.reason end)
    from unnest(p_event_id, p_lease, p_number, p_kind, p_reason, p_status, p_spent, p_retry_ms)
      as s (event_id, lease, number, kind, reason, status, spent, retry_ms)
    where o.event_id = s.event_id and o.lease = s.lease::uuid and o.made = s.number
      and s.kind in ('retry', 'released');
  end if;
end
$$;
