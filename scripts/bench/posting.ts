/** Runs rounds in which wrk posts leads to a server, and measures what the server wrote. */

import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Bench, Load } from "./measure.ts";
import { buildFolder, type Measures, memoryMiB, type Program, run, startCpuMeter } from "./programs.ts";
import type { Database } from "./stage.ts";

/** Starts a server that stores leads in the database. */
export type Start = (bench: Bench, database: Database) => Promise<Program>;

/** The number of requests in flight at saturation. */
export const inFlightRequests = 64;

/** The number of leads after which V8 has compiled the hot code; on a busy machine, one warm-up run posts fewer. */
const warmUpLeads = 20_000;
const warmUpRunsMax = 8;

const scriptFile = fileURLToPath(new URL("lead.lua", import.meta.url));

/** Writes the files with leads and keys for wrk; `name` is the name of the file with the keys. */
export function writeLoad(bodies: readonly string[], keys: readonly string[], name = "keys"): Load {
  const load = { bodiesFile: join(buildFolder, "bodies.jsonl"), keysFile: join(buildFolder, `${name}.txt`) };
  writeFileSync(load.bodiesFile, bodies.map((body) => `${body}\n`).join(""));
  writeFileSync(load.keysFile, keys.map((key) => `${key}\n`).join(""), { mode: 0o600 });
  return load;
}

/** The output of `lead.lua`. */
interface LoadResult {
  readonly requests: number;
  readonly durationUs: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** The processor time of wrk itself. */
  readonly processorUs: number;
  readonly failed: number;
}

/** @throws {Error} if a response is an error or a connection fails */
async function post(url: string, load: Load, connections: number, seconds: number): Promise<LoadResult> {
  const output = await run("wrk", [
    // On two cores a second thread would only compete with the server.
    "--threads=1",
    `--connections=${connections}`,
    `--duration=${seconds}s`,
    "--timeout=10s",
    `--script=${scriptFile}`,
    url,
    "--",
    load.bodiesFile,
    load.keysFile,
    randomBytes(5).toString("hex"),
  ], { timeoutMs: (seconds + 15) * 1_000 });
  const result = JSON.parse(/^RESULT (.*)$/m.exec(output)?.[1] ?? "{}") as LoadResult;
  if (result.failed !== 0) {
    throw new Error(`Not every request was accepted:\n${output}`);
  }
  return result;
}

/** Warms a target up and measures it. */
export async function loadTarget(
  { options, postgresServer, load }: Bench,
  target: Program,
  connections = inFlightRequests,
): Promise<{ measures: Measures; responseCount: number; unansweredCount: number }> {
  const url = `${target.urls.intake}/v1/intake`;
  let responses = 0;
  // Each run of wrk exits with requests still in flight.
  let inFlightAtExit = connections;
  for (let runs = 0; runs < warmUpRunsMax && responses < warmUpLeads; runs += 1) {
    responses += (await post(url, load, connections, options.warmUpSeconds)).requests;
    inFlightAtExit += connections;
  }
  const spent = startCpuMeter({ server: target.pid, PostgreSQL: postgresServer.pid });
  const posts = await post(url, load, connections, options.seconds);
  if (posts.requests === 0) {
    throw new Error(`${url} has not responded in time`);
  }
  const usage = spent(posts.requests, "lead");
  const measures = {
    "leads/s": posts.requests / (posts.durationUs / 1e6),
    "median ms": posts.p50Us / 1_000,
    "99th percentile ms": posts.p99Us / 1_000,
    ...usage,
    "server and PostgreSQL, processor µs per lead": Object.values(usage).reduce((sum, us) => sum + us, 0),
    "wrk, processor µs per lead": posts.processorUs / posts.requests,
    "MiB resident, highest": memoryMiB(target.pid, "VmHWM"),
    "MiB resident, at the end": memoryMiB(target.pid, "VmRSS"),
  };
  return { measures, responseCount: responses + posts.requests, unansweredCount: inFlightAtExit };
}

/**
 * Runs a round for a target that stores leads. Writes are counted over the target's whole lifetime, including the warm-up.
 *
 * @throws {Error} if the numbers of acknowledged, stored and logged leads contradict each other
 */
export async function measureStore(
  bench: Bench,
  database: Database,
  start: Start,
  connections = inFlightRequests,
): Promise<Measures> {
  const { postgresServer } = bench;
  const [newest] = await database.sql<{ id: string }[]>`select coalesce(max(event_id), '') as id from event`;
  const before = await postgresServer.counters();
  const target = await start(bench, database);
  const { measures, responseCount, unansweredCount } = await loadTarget(
    bench,
    target,
    connections,
  ).finally(() => target.stop());
  await database.waitForClients();
  const after = await postgresServer.counters();
  const [row] = await database.sql<{ n: number }[]>`
    select count(*)::int as n from event where event_id > ${newest?.id ?? ""}`;
  const stored = row?.n ?? 0;
  if (stored < responseCount || stored > responseCount + unansweredCount) {
    throw new Error(`${responseCount} leads were acknowledged, but ${stored} are in the store`);
  }
  const lines = readFileSync(target.logFile).reduce((count, byte) => byte === 10 ? count + 1 : count, 0);
  if (target.logFile.includes("service") && lines < responseCount) {
    throw new Error(`There were ${responseCount} responses, but the access log has ${lines} lines`);
  }
  return {
    ...measures,
    "leads stored": stored,
    "WAL syncs per lead": (after.syncs - before.syncs) / stored,
    "WAL bytes per lead": (after.bytes - before.bytes) / stored,
  };
}
