/**
 * A round of leads posted to a server, and what it has written.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import type { Program } from "../programs.ts";
import type { Database } from "../stage.ts";
import type { Bench, Measures } from "../measure.ts";
import { meter, readMemory } from "../usage.ts";
import { post, type WrkOptions } from "./wrk.ts";

/** How leads reach a target. */
export type Posting = Pick<WrkOptions, "connections">;

/** Starts a server that stores in the database. */
export type Start = (bench: Bench, database: Database) => Promise<Program>;

/**
 * V8 has compiled what is called often after so many leads. A quiet machine posts more than these in the seconds of the
 * warm-up; a busy one goes on, but not for ever.
 */
const warmUpLeads = 20_000;
const warmUpRunsMax = 8;

async function warmUp(url: string, { load, options }: Bench, connections: number) {
  let runs = 0;
  let answers = 0;
  while (answers < warmUpLeads && runs < warmUpRunsMax) {
    answers += (await post(url, load, { connections, seconds: options.warmUpSeconds })).requests;
    runs += 1;
  }
  return { runs, answers };
}

/** Warms a target up and loads it. */
export async function loadTarget(bench: Bench, target: Program, { connections }: Posting) {
  const { options, stage, load } = bench;
  const url = `${target.urls.intake}/v1/intake`;
  const warm = await warmUp(url, bench, connections);
  const spent = meter({ server: target.pid, PostgreSQL: stage.pid });
  const found = await post(url, load, { connections, seconds: options.seconds });
  if (found.requests === 0) throw new Error(`${url} has answered nothing in time`);
  const usage = spent(found.requests, "lead");
  const memory = readMemory(target.pid);
  const measures: Measures = {
    "leads/s": found.perSecond,
    "median ms": found.p50Us / 1_000,
    "99th percentile ms": found.p99Us / 1_000,
    ...usage,
    "server and PostgreSQL, processor µs per lead": Object.values(usage).reduce((sum, us) => sum + us, 0),
    "wrk, processor µs per lead": found.processorUs / found.requests,
    "MiB resident, highest": memory.highestMiB,
    "MiB resident, at the end": memory.residentMiB,
  };
  return {
    measures,
    answers: warm.answers + found.requests,
    // wrk leaves while requests are in flight.
    unanswered: (warm.runs + 1) * connections,
  };
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
  if (stored < loaded.answers || stored > loaded.answers + loaded.unanswered) {
    throw new Error(`${loaded.answers} leads were acknowledged, and ${stored} are in the store`);
  }
  if (target.logFile.includes("service")) checkLog(target, loaded.answers);
  return {
    ...loaded.measures,
    "leads stored": stored,
    "WAL syncs a lead": (after.syncs - before.syncs) / stored,
    "WAL bytes a lead": (after.bytes - before.bytes) / stored,
    "full page images a lead": (after.pages - before.pages) / stored,
    "transactions a lead": (after.commits - before.commits) / stored,
  };
}

function checkLog({ logFile }: Program, answers: number): void {
  const lines = readFileSync(logFile).reduce((count, byte) => byte === 10 ? count + 1 : count, 0);
  if (lines < answers) {
    throw new Error(`${answers} answers were given, and the access log has ${lines} lines`);
  }
}
