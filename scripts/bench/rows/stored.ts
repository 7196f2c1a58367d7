/**
 * Row 7: throughput with millions of events stored beside that of an empty store.
 *
 * @module
 */

import { hash } from "node:crypto";
import type postgres from "postgres";
import { canonicalText } from "../../../src/lead/fingerprint.ts";
import { foldArea } from "../../../src/lead/place.ts";
import { validate } from "../../../src/lead/validate.ts";
import { type Bench, measureOnStore, type StoreRound } from "../measure.ts";
import type { RowResult } from "../report.ts";
import { type Database, keyCount, tenantCount } from "../stage.ts";
import { digits, figure, ratio } from "../stats.ts";
import { startOurs } from "../targets.ts";

/** Delivered events have no outbox row; these many of the newest wait, as after a short outage downstream. */
const pendingEvents = 5_000;
const chunkEvents = 250_000;
/** Distinct leads among the stored ones; ids and digests all differ. */
const sampleCount = 2_000;

/** Measures the row when it is asked for. */
export async function measureStored(bench: Bench): Promise<RowResult[]> {
  const { options, stage } = bench;
  if (!options.rows.has(7)) return [];
  const full = await stage.createDatabase();
  const startedAtMs = performance.now();
  await fill(full.sql, bench);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const [row] = await full.sql<{ size: string }[]>`
    select pg_size_pretty(pg_database_size(current_database())) as size`;
  const filled = `${options.storedEvents.toLocaleString("en-US")} events, ${row?.size}, filled in ${
    digits(seconds)
  } s`;
  bench.say(filled);
  await stage.checkpoint();

  const rounds = await alternate(bench, full);
  const of = (which: keyof Rounds, pick: (round: StoreRound) => number) => figure(rounds[which].map(pick));
  const [fullRate, emptyRate] = [
    of("full", (round) => round.perSecond),
    of("empty", (round) => round.perSecond),
  ];
  return [{
    row: 7,
    what: `leads/s with ${
      options.storedEvents.toLocaleString("en-US")
    } events stored, against an empty store`,
    value: ratio(fullRate, emptyRate),
    unit: "×",
    target: { atLeast: 0.9 },
    judged: "median",
    figures: {
      "full, leads/s": fullRate,
      "empty, leads/s": emptyRate,
      "full, WAL bytes a lead": of("full", (round) => round.walBytesPerLead),
      "empty, WAL bytes a lead": of("empty", (round) => round.walBytesPerLead),
    },
    notes: [
      filled,
      "one checkpoint before the first round, which so pays for the first change of each page; none between rounds",
    ],
  }];
}

interface Rounds {
  readonly empty: StoreRound[];
  readonly full: StoreRound[];
}

// No checkpoint and no DROP DATABASE, which takes one, between the rounds: the first change of each page after it
// is costly, and a service meets that every few minutes, not every few seconds.
async function alternate(bench: Bench, full: Database): Promise<Rounds> {
  const { options, stage } = bench;
  const rounds: Rounds = { empty: [], full: [] };
  const used = [full];
  const { inFlight: connections, warmUpSeconds, roundSeconds: seconds } = options;
  for (let round = 0; round < options.rounds; round += 1) {
    for (const which of round % 2 === 0 ? ["full", "empty"] as const : ["empty", "full"] as const) {
      const database = which === "full" ? full : await stage.createDatabase();
      if (which === "empty") used.push(database);
      const found = await measureOnStore(bench, database, {
        startTarget: (databaseUrl) => startOurs({ databaseUrl }),
        round: { connections, warmUpSeconds, seconds },
      });
      rounds[which].push(found);
      const wal = `${digits(found.walBytesPerLead)} bytes of WAL a lead`;
      bench.say(`round ${round + 1}: ${which} store ${digits(found.perSecond)} leads/s, ${wal}`);
    }
  }
  for (const database of used) await database.drop();
  return rounds;
}

/** Fills a database as months of traffic would have left it, then vacuums and analyzes it. */
async function fill(sql: postgres.Sql, { options, bodies, say }: Bench): Promise<void> {
  await createSamples(sql, bodies);
  // The unique index is built at the end, in one go; what constraint triggers would check holds by construction.
  const [index] = await sql<{ text: string }[]>`
    select indexdef as text from pg_indexes where indexname = 'event_dedupe'`;
  if (index === undefined) throw new Error("There is no index event_dedupe: bring this generator up to date");
  await sql`drop index event_dedupe`;
  await sql`set session_replication_role = replica`;
  await sql`set synchronous_commit = off`;
  for (let from = 0; from < options.storedEvents; from += chunkEvents) {
    const to = Math.min(from + chunkEvents, options.storedEvents);
    await insertEvents(sql, { from, to, total: options.storedEvents });
    say(`filling: ${digits(to)} events`);
  }
  await sql.unsafe(index.text);
  const pending = Math.min(pendingEvents, options.storedEvents);
  await sql`
    insert into outbox (event_id, tenant_id, due_at)
    select event_id, tenant_id, received_at from event order by event_id desc limit ${pending}`;
  await sql`insert into outbox_tally (state, delta) values ('pending', ${pending})`;
  await sql`set session_replication_role = origin`;
  await sql`set synchronous_commit = on`;
  await sql`drop table bench_sample`;
  await sql`vacuum analyze`;
}

/** Normalized leads to copy from, as large as those that are posted. */
async function createSamples(sql: postgres.Sql, bodies: readonly string[]): Promise<void> {
  const areas = new Map(
    (await sql<{ area: string }[]>`select area from area`).map(({ area }) => [foldArea(area), area]),
  );
  const samples = bodies.slice(0, sampleCount).map((raw) => {
    const verdict = validate(raw, areas);
    if (verdict.kind !== "valid") throw new Error(`A sample lead is not valid: ${raw}`);
    const { lead, extra, flags } = verdict;
    const content = hash("sha256", canonicalText(lead, extra), "hex").slice(0, 32);
    return { raw, extra, flags: flags.join(","), lead: JSON.stringify(lead), content };
  });
  await sql`
    create unlogged table bench_sample
      (number int primary key, raw text, extra text, flags text, lead text, content uuid)`;
  await sql`
    insert into bench_sample
    select ordinality - 1, u.raw, u.extra, u.flags, u.lead, u.content::uuid
    from unnest(
      ${samples.map(({ raw }) => raw)}::text[], ${samples.map(({ extra }) => extra)}::text[],
      ${samples.map(({ flags }) => flags)}::text[], ${samples.map(({ lead }) => lead)}::text[],
      ${samples.map(({ content }) => content)}::text[]
    ) with ordinality as u (raw, extra, flags, lead, content, ordinality)`;
}

// One event every 5 s up to now, their ids made as accept.sql makes them.
async function insertEvents(
  sql: postgres.Sql,
  { from, to, total }: { from: number; to: number; total: number },
): Promise<void> {
  await sql`
    insert into event (
      event_id, kind, tenant_id, key_id, received_at, dedupe_space, dedupe_digest, content_digest,
      idempotency_key, flags, lead, extra, raw
    )
    select
      lpad(to_hex((extract(epoch from at) * 1000000)::bigint), 14, '0') || '0001' || left(md5(n::text), 20),
      'lead', (n % ${keyCount}::int) % ${tenantCount}::int + 1, n % ${keyCount}::int + 1, at, 'k',
      md5('digest' || n)::uuid, s.content, 'provider:lead:filled-1-' || n,
      coalesce(string_to_array(nullif(s.flags, ''), ','), '{}'), s.lead::json, s.extra, s.raw
    from generate_series(${from}::int, ${to - 1}::int) as n
    join bench_sample as s on s.number = n % ${sampleCount}::int
    cross join lateral (select now() - make_interval(secs => (${total}::int - n) * 5.0) as at) as t
    order by n`;
}
