/**
 * One round of one target on one database: start, warm up, measure, stop, and check that what was answered
 * with 202 is in the store.
 *
 * @module
 */

import type { BenchOptions } from "./options.ts";
import type { Database, Stage } from "./stage.ts";
import type { Target } from "./targets.ts";
import { cpuSeconds, type Memory, readMemory } from "./usage.ts";
import { type Load, type LoadResult, runWrk } from "./wrk.ts";

/** What every row works with. */
export interface Bench {
  readonly options: BenchOptions;
  readonly stage: Stage;
  readonly load: Load;
  /** Bodies as wrk posts them. */
  readonly bodies: readonly string[];
  /** Tells the person at the terminal how far it is. */
  readonly say: (line: string) => void;
}

/** What a round on a store found. */
export interface StoreRound extends Loaded {
  /** Flushes of the WAL for each lead stored, over the whole life of the server, warm-up included. */
  readonly syncsPerLead: number;
  readonly commitsPerLead: number;
  readonly walBytesPerLead: number;
}

/** How a round is run. */
export interface RoundOptions {
  readonly connections: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/** What loading a target found. */
export interface Loaded extends LoadResult {
  /** Answers during the warm-up and the round. */
  readonly answers: number;
  /** Processor time of the target's process during the round, for each answer. */
  readonly cpuUsPerAnswer: number;
  /** The same of all processes of PostgreSQL. */
  readonly databaseCpuUsPerAnswer: number;
  readonly memory: Memory;
}

/** Warms a target up and measures it. */
export async function loadTarget(
  { load, stage }: Bench,
  target: Target,
  { connections, warmUpSeconds, seconds }: RoundOptions,
): Promise<Loaded> {
  const warmUp = await runWrk(target.url, { load, connections, seconds: warmUpSeconds });
  const database = stage.pids();
  const [targetBefore, databaseBefore] = [cpuSeconds([target.pid]), cpuSeconds(database)];
  const result = await runWrk(target.url, { load, connections, seconds });
  const usPerAnswer = (seconds: number) => seconds * 1e6 / result.requests;
  return {
    ...result,
    answers: warmUp.requests + result.requests,
    cpuUsPerAnswer: usPerAnswer(cpuSeconds([target.pid]) - targetBefore),
    databaseCpuUsPerAnswer: usPerAnswer(cpuSeconds(database) - databaseBefore),
    memory: readMemory(target.pid),
  };
}

/**
 * Runs a round of a target that stores.
 *
 * @throws {Error} when the store does not hold what was acknowledged
 */
export async function measureOnStore(
  bench: Bench,
  database: Database,
  { startTarget, round }: { startTarget: (databaseUrl: string) => Promise<Target>; round: RoundOptions },
): Promise<StoreRound> {
  const { stage } = bench;
  const newest = await database.newest();
  const [before, commitsBefore] = [await stage.counters(), await stage.commits(database)];
  const target = await startTarget(database.url);
  let loaded: Loaded;
  try {
    loaded = await loadTarget(bench, target, round);
  } finally {
    await target.stop();
  }
  await database.quiet();
  const [after, commitsAfter] = [await stage.counters(), await stage.commits(database)];
  const stored = await database.countAfter(newest);
  checkStored(loaded.answers, stored, round.connections);
  return {
    ...loaded,
    syncsPerLead: (after.walSyncs - before.walSyncs) / stored,
    commitsPerLead: (commitsAfter - commitsBefore) / stored,
    walBytesPerLead: (after.walBytes - before.walBytes) / stored,
  };
}

/** Gives a round an empty database of its own, after a checkpoint. */
export async function onFreshDatabase<T>(
  { stage }: Bench,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await stage.createDatabase();
  await stage.checkpoint();
  const result = await work(database);
  await database.drop();
  return result;
}

// wrk leaves while requests are in flight, at the end of the warm-up and of the round.
function checkStored(acknowledged: number, stored: number, connections: number): void {
  if (stored < acknowledged || stored > acknowledged + 2 * connections) {
    throw new Error(`${acknowledged} leads were acknowledged, and ${stored} are in the store`);
  }
}
