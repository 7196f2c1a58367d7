-- Stores what the label on a submission teaches the forms of p_tenant_id (0: all forms), and removes what the submission taught
-- before. A submission without a label, without features (p_features: hashes of words), or with a score that says nothing of its
-- words teaches nothing.
create or replace function teach_spam(p_event_id text, p_tenant_id int, p_features int[]) returns void
language sql
as $$
  -- Locked before the labels, in the order of the tenants, as in learn_spam and forget_spam_label.
  insert into spam_lessons as l (tenant_id)
  select distinct x.tenant_id
  from (
    values (p_tenant_id)
    union all
    select l.tenant_id from spam_label as l where l.event_id = p_event_id
  ) as x (tenant_id)
  order by x.tenant_id
  on conflict (tenant_id) do update set is_stale = true;

  delete from spam_label as l where l.event_id = p_event_id;

  insert into spam_label (event_id, tenant_id, is_spam, error, sender, features, labelled_at)
  select s.event_id, p_tenant_id, s.label = 'spam', case s.label when 'spam' then 100 - s.score else s.score end,
    md5(coalesce(s.email, s.phone, s.event_id))::uuid, p_features, s.labelled_at
  from submission as s
  where s.event_id = p_event_id and s.label is not null and cardinality(p_features) > 0
    and not s.reasons && '{blocked_words,unreviewed}';
$$;

-- Removes what submissions taught, for an erasure.
create or replace function forget_spam_labels(p_event_id text[]) returns void
language sql
as $$
  with stale as materialized (
    select l.tenant_id from spam_lessons as l
    where l.tenant_id in (select s.tenant_id from spam_label as s where s.event_id = any (p_event_id))
    order by l.tenant_id
    for update
  )
  update spam_lessons as l set is_stale = true from stale as s where l.tenant_id = s.tenant_id;

  delete from spam_label as l where l.event_id = any (p_event_id);
$$;

-- Learns the corrections of one tenant_id whose labels have changed, from its last 1,000 labels, and deletes older ones. Returns
-- whether there was one.
--
-- A sender's labels of one kind count once, and a word counts if three senders used it, so that no correction depends on, or
-- identifies, one sender. Errors of 400 points, all of one kind, give half of the maximum weight of 8 in log-odds. Of the words of
-- a customer's labels, the 400 with the highest weights are kept, of the operators' labels 4,000.
create or replace function learn_spam() returns boolean
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_tenant_id int;
begin
  select l.tenant_id into v_tenant_id from spam_lessons as l
  where l.is_stale order by l.tenant_id limit 1 for no key update skip locked;
  if not found then
    return false;
  end if;

  delete from spam_label as l
  where l.event_id in (
    select o.event_id from spam_label as o
    where o.tenant_id = v_tenant_id order by o.labelled_at desc, o.event_id offset 1000
    for update skip locked
  );

  with label as (
    select distinct on (l.sender, l.is_spam) l.* from spam_label as l
    where l.tenant_id = v_tenant_id order by l.sender, l.is_spam, l.labelled_at desc
  ),
  word as (
    select f.hash, coalesce(sum(l.error) filter (where l.is_spam), 0) as spam,
      coalesce(sum(l.error) filter (where not l.is_spam), 0) as ham
    from label as l cross join lateral unnest(l.features) as f (hash)
    group by f.hash having count(distinct l.sender) >= 3
  ),
  lesson as (
    select w.hash, (8000 * (w.spam - w.ham) / (w.spam + w.ham + 400))::int as weight
    from word as w order by abs(w.spam - w.ham) desc, w.hash limit case v_tenant_id when 0 then 4000 else 400 end
  )
  update spam_lessons as l
  set is_stale = false, learned_at = clock_timestamp(), hashes = n.hashes, weights = n.weights
  from (
    select coalesce(array_agg(x.hash order by x.hash), '{}') as hashes,
      coalesce(array_agg(x.weight order by x.hash), '{}') as weights
    from lesson as x where x.weight <> 0
  ) as n
  where l.tenant_id = v_tenant_id;
  return true;
end
$$;

-- Removes everything that labels taught. The labels stay.
create or replace function forget_spam_lessons() returns void
language sql
security definer
set search_path = pg_catalog, public, pg_temp
as $$
  -- In the order of teach_spam.
  select from spam_lessons as l order by l.tenant_id for update;
  delete from spam_label;
  update spam_lessons as l
  set is_stale = false, learned_at = clock_timestamp(), hashes = '{}', weights = '{}'
  where l.is_stale or l.hashes <> '{}';
$$;

-- Removes all labels and what they taught. Audits this and returns the number of labels.
create or replace function forget_spam_learning() returns int
language plpgsql
as $$
declare
  v_count int;
begin
  update submission as s set label = null, labelled_at = null where s.label is not null;
  get diagnostics v_count = row_count;
  perform forget_spam_lessons();
  perform append_audit(
    'ctl', current_setting('lead_intake.claimed', true), 'spam.forget', array[v_count::text], null
  );
  return v_count;
end
$$;
