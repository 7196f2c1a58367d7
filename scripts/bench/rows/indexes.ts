/**
 * Row 8: what the indexes of the operator's search cost the intake: the same stored events with them and without.
 *
 * @module
 */

import { fill } from "../events.ts";
import { type Bench, measureOnStore, type StoreRound } from "../measure.ts";
import type { RowResult } from "../report.ts";
import type { Database } from "../stage.ts";
import { digits, figure, ratio } from "../stats.ts";
import { startOurs } from "../targets.ts";

const which = ["with", "without"] as const;
type Which = (typeof which)[number];

/** Measures the row when it is asked for. */
export async function measureIndexes(bench: Bench): Promise<RowResult[]> {
  const { options } = bench;
  if (!options.rows.has(8)) return [];
  // Two stores of this size are filled; the cost hardly grows with it, since new entries go to the end of each index.
  const events = Math.ceil(options.storedEvents / 10);
  const stores = { with: await store(bench, events), without: await store(bench, events) };
  const dropped = await dropSearchIndexes(stores.without);
  await bench.stage.checkpoint();
  const rounds: Record<Which, StoreRound[]> = { with: [], without: [] };
  for (let round = 0; round < options.rounds; round += 1) {
    for (const one of round % 2 === 0 ? which : which.toReversed()) {
      const found = await measureOnStore(bench, stores[one], {
        startTarget: (databaseUrl) => startOurs({ databaseUrl }),
        round: {
          connections: options.inFlight,
          warmUpSeconds: options.warmUpSeconds,
          seconds: options.roundSeconds,
        },
      });
      rounds[one].push(found);
      const wal = `${digits(found.walBytesPerLead)} bytes of WAL a lead`;
      bench.say(`round ${round + 1}: ${one} the search's indexes ${digits(found.perSecond)} leads/s, ${wal}`);
    }
  }
  for (const one of which) await stores[one].drop();
  const of = (one: Which, pick: (round: StoreRound) => number) => figure(rounds[one].map(pick));
  const rates = {
    with: of("with", (round) => round.perSecond),
    without: of("without", (round) => round.perSecond),
  };
  return [{
    row: 8,
    what: "leads/s with the operator's search indexes, against the same store without them",
    value: ratio(rates.with, rates.without),
    unit: "×",
    target: { atLeast: 0.75 },
    judged: "median",
    figures: {
      "with, leads/s": rates.with,
      "without, leads/s": rates.without,
      "with, WAL bytes a lead": of("with", (round) => round.walBytesPerLead),
      "without, WAL bytes a lead": of("without", (round) => round.walBytesPerLead),
      "with, processor µs per lead, PostgreSQL": of("with", (round) => round.databaseCpuUsPerAnswer),
      "without, processor µs per lead, PostgreSQL": of("without", (round) => round.databaseCpuUsPerAnswer),
    },
    notes: [
      `${events.toLocaleString("en-US")} events stored in each; dropped: ${dropped.join(", ")}`,
      "one checkpoint before the first round, none between rounds",
    ],
  }];
}

async function store({ stage, options, bodies, say }: Bench, events: number): Promise<Database> {
  const database = await stage.createDatabase();
  await fill(database.sql, { events, pending: Math.min(5_000, options.storedEvents), bodies, say });
  return database;
}

/** Those of sql/0015_search.sql. */
async function dropSearchIndexes({ sql }: Database): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select indexname as name from pg_indexes
    where tablename = 'event' and indexname not in ('event_pkey', 'event_dedupe') order by 1`;
  for (const { name } of rows) await sql`drop index ${sql(name)}`;
  return rows.map(({ name }) => name);
}
