/** A round in which wrk posts leads to a server, and what the server wrote. */

import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Bench, Load } from "./measure.ts";
import { buildFolder, type Measures, memoryMiB, meter, type Program, run } from "./programs.ts";
import type { Database } from "./stage.ts";

/** Starts a server that stores leads in the database. */
export type Start = (bench: Bench, database: Database) => Promise<Program>;

/** Requests in flight at saturation. */
export const inFlight = 64;

/** Leads until V8 has compiled the hot code; a busy machine needs several runs. */
const warmUpLeads = 20_000;
const warmUpRunsMax = 8;

const scriptFile = fileURLToPath(new URL("lead.lua", import.meta.url));

/** Writes the files of leads and keys for wrk; `name` names the keys' file. */
export function writeLoad(bodies: readonly string[], keys: readonly string[], name = "keys"): Load {
  const load = { bodiesFile: join(buildFolder, "bodies.jsonl"), keysFile: join(buildFolder, `${name}.txt`) };
  writeFileSync(load.bodiesFile, bodies.map((body) => `${body}\n`).join(""));
  writeFileSync(load.keysFile, keys.map((key) => `${key}\n`).join(""), { mode: 0o600 });
  return load;
}

/** The output of `lead.lua`. */
interface Posts {
  readonly requests: number;
  readonly durationUs: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Processor time of wrk itself. */
  readonly processorUs: number;
  readonly failed: number;
}

/** @throws {Error} if a response was an error or a connection failed */
async function post(url: string, load: Load, connections: number, seconds: number): Promise<Posts> {
  const said = await run("wrk", [
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
  const result = JSON.parse(/^RESULT (.*)$/m.exec(said)?.[1] ?? "{}") as Posts;
  if (result.failed !== 0) {
    throw new Error(`Not every request was accepted:\n${said}`);
  }
  return result;
}

/** Warms a target up and measures it. */
export async function loadTarget(
  { options, stage, load }: Bench,
  target: Program,
  connections = inFlight,
): Promise<{ measures: Measures; answers: number; unanswered: number }> {
  const url = `${target.urls.intake}/v1/intake`;
  let answers = 0;
  // wrk exits with requests still in flight.
  let unanswered = connections;
  for (let runs = 0; runs < warmUpRunsMax && answers < warmUpLeads; runs += 1) {
    answers += (await post(url, load, connections, options.warmUpSeconds)).requests;
    unanswered += connections;
  }
  const spent = meter({ server: target.pid, PostgreSQL: stage.pid });
  const found = await post(url, load, connections, options.seconds);
  if (found.requests === 0) {
    throw new Error(`${url} has answered nothing in time`);
  }
  const usage = spent(found.requests, "lead");
  const measures = {
    "leads/s": found.requests / (found.durationUs / 1e6),
    "median ms": found.p50Us / 1_000,
    "99th percentile ms": found.p99Us / 1_000,
    ...usage,
    "server and PostgreSQL, processor µs per lead": Object.values(usage).reduce((sum, us) => sum + us, 0),
    "wrk, processor µs per lead": found.processorUs / found.requests,
    "MiB resident, highest": memoryMiB(target.pid, "VmHWM"),
    "MiB resident, at the end": memoryMiB(target.pid, "VmRSS"),
  };
  return { measures, answers: answers + found.requests, unanswered };
}

/**
 * Runs a round of a target that stores leads; writes are counted over its whole lifetime, warm-up included.
 *
 * @throws {Error} if the store lacks an acknowledged lead
 */
export async function onStore(
  bench: Bench,
  database: Database,
  start: Start,
  connections = inFlight,
): Promise<Measures> {
  const { stage } = bench;
  const [newest] = await database.sql<{ id: string }[]>`select coalesce(max(event_id), '') as id from event`;
  const before = await stage.counters();
  const target = await start(bench, database);
  const { measures, answers, unanswered } = await loadTarget(bench, target, connections).finally(() =>
    target.stop()
  );
  await database.quiet();
  const after = await stage.counters();
  const [row] = await database.sql<{ n: number }[]>`
    select count(*)::int as n from event where event_id > ${newest?.id ?? ""}`;
  const stored = row?.n ?? 0;
  if (stored < answers || stored > answers + unanswered) {
    throw new Error(`${answers} leads were acknowledged, and ${stored} are in the store`);
  }
  const lines = readFileSync(target.logFile).reduce((count, byte) => byte === 10 ? count + 1 : count, 0);
  if (target.logFile.includes("service") && lines < answers) {
    throw new Error(`${answers} answers were given, and the access log has ${lines} lines`);
  }
  return {
    ...measures,
    "leads stored": stored,
    "WAL syncs a lead": (after.syncs - before.syncs) / stored,
    "WAL bytes a lead": (after.bytes - before.bytes) / stored,
  };
}
