/**
 * Row 7: throughput with millions of events stored beside that of an empty store.
 *
 * @module
 */

import { fill } from "../events.ts";
import { type Bench, measureOnStore, type StoreRound } from "../measure.ts";
import type { RowResult } from "../report.ts";
import type { Database } from "../stage.ts";
import { digits, figure, ratio } from "../stats.ts";
import { startOurs } from "../targets.ts";

/** Delivered events have no outbox row; these many of the newest wait, as after a short outage downstream. */
const pendingEvents = 5_000;

/** Measures the row when it is asked for. */
export async function measureStored(bench: Bench): Promise<RowResult[]> {
  const { options, stage } = bench;
  if (!options.rows.has(7)) return [];
  const full = await stage.createDatabase();
  const startedAtMs = performance.now();
  const events = options.storedEvents;
  const pending = Math.min(pendingEvents, events);
  await fill(full.sql, { events, pending, bodies: bench.bodies, say: bench.say });
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
