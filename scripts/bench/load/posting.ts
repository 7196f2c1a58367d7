/**
 * A round of leads posted to a server, and what it has written.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import type { Program } from "../programs.ts";
import type { Database } from "../stage.ts";
import type { Bench, Measures } from "../suite.ts";
import { meter, readMemory } from "../usage.ts";
import { post, type WrkOptions } from "./wrk.ts";

/** How leads reach a target, and for how long. */
export type Posting = Pick<WrkOptions, "connections"> & Partial<WrkOptions>;

/** Starts a server that stores in the database. */
export type Start = (bench: Bench, database: Database) => Promise<Program>;

/** Warms a target up and loads it. */
export async function loadTarget(bench: Bench, target: Program, { connections, seconds }: Posting) {
  const { options, stage, load } = bench;
  const url = `${target.urls.intake}/v1/intake`;
  const warmUp = await post(url, load, { connections, seconds: options.warmUpSeconds });
  const spent = meter({ server: target.pid, PostgreSQL: stage.pid });
  const found = await post(url, load, { connections, seconds: seconds ?? options.seconds });
  const memory = readMemory(target.pid);
  const measures: Measures = {
    "leads/s": found.perSecond,
    "median ms": found.p50Us / 1_000,
    "99th percentile ms": found.p99Us / 1_000,
    ...spent(found.requests, "lead"),
    "MiB resident, highest": memory.highestMiB,
    "MiB resident, at the end": memory.residentMiB,
  };
  return { measures, answers: warmUp.requests + found.requests };
}

/**
 * Runs a round of a target that stores; what it writes is counted over its whole life, warm-up included.
 *
 * @throws {Error} when the store does not hold what was acknowledged
 */
export async function onStore(
  bench: Bench,
  database: Database,
  start: Start,
  posting: Posting,
): Promise<Measures> {
  const { stage } = bench;
  const [newest] = await database.sql<{ id: string }[]>`select coalesce(max(event_id), '') as id from event`;
  const before = await stage.counters(database);
  const target = await start(bench, database);
  let loaded: Awaited<ReturnType<typeof loadTarget>>;
  try {
    loaded = await loadTarget(bench, target, posting);
  } finally {
    await target.stop();
  }
  await database.quiet();
  const after = await stage.counters(database);
  const [row] = await database.sql<{ n: number }[]>`
    select count(*)::int as n from event where event_id > ${newest?.id ?? ""}`;
  const stored = row?.n ?? 0;
  // wrk leaves while requests are in flight, at the end of the warm-up and of the round.
  if (stored < loaded.answers || stored > loaded.answers + 2 * posting.connections) {
    throw new Error(`${loaded.answers} leads were acknowledged, and ${stored} are in the store`);
  }
  if (target.logFile.includes("service")) checkLog(target, loaded.answers);
  return {
    ...loaded.measures,
    "WAL syncs a lead": (after.syncs - before.syncs) / stored,
    "WAL bytes a lead": (after.bytes - before.bytes) / stored,
    "commits a lead": (after.commits - before.commits) / stored,
  };
}

function checkLog({ logFile }: Program, answers: number): void {
  const lines = readFileSync(logFile).reduce((count, byte) => byte === 10 ? count + 1 : count, 0);
  if (lines < answers) {
    throw new Error(`${answers} answers were given, and the access log has ${lines} lines`);
  }
}
