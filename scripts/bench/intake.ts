/**
 * `npm run bench:intake`: the table of what the intake must reach, measured side by side with its peers on one
 * embedded PostgreSQL, printed and written to `build/bench/intake.json`.
 *
 * @module
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { killAll } from "./children.ts";
import { makeBodies } from "./leads.ts";
import { describeMachine } from "./machine.ts";
import type { Bench } from "./measure.ts";
import { type BenchOptions, help, readOptions } from "./options.ts";
import { profile } from "./profile.ts";
import { renderTable, type RowResult, toJson } from "./report.ts";
import { measureIndexes } from "./rows/indexes.ts";
import { measureLatency } from "./rows/latency.ts";
import { measureSaturation } from "./rows/saturation.ts";
import { measureStart } from "./rows/start.ts";
import { measureStored } from "./rows/stored.ts";
import { installPeers, optionsOrExit, runSession, say, type Session } from "./session.ts";
import { openStage } from "./stage.ts";
import { buildFolder } from "./targets.ts";
import { writeLoad, wrkVersion } from "./wrk.ts";

/** Different bodies that wrk posts in turn. */
const bodyCount = 2_000;

/** How everybody was run, beside the settings of PostgreSQL. */
const conditions = [
  "one machine for client, server and PostgreSQL; loopback; wrk with one thread; a fresh database each round",
  "ours: node src/main.ts with everything on, its access log written to a file on the same disk, limits raised",
  "Fastify: one process as ours; its logger is off, it has no rate limits, no access log, no request ids",
  "pgbench: event and outbox row only; no look at the key, no spend, no HTTP",
  "leads: 500 to 700 bytes, each with an Idempotency-Key of its own, 16 keys of 8 tenants, half with a cost",
  "checked after each round: every acknowledged lead is in the store",
];

async function measureAll(
  bench: Bench,
  session: Session,
): Promise<{ rows: RowResult[]; failures: string[] }> {
  const rows: RowResult[] = [];
  const failures: string[] = [];
  for (const measure of [measureSaturation, measureLatency, measureStart, measureStored, measureIndexes]) {
    try {
      rows.push(...await measure(bench));
    } catch (error) {
      // The other rows are worth having all the same.
      if (session.isStopping) throw error;
      failures.push(`${measure.name}: ${error instanceof Error ? error.stack : error}`);
      killAll();
    }
  }
  return { rows: rows.sort((a, b) => a.row - b.row), failures };
}

async function main(options: BenchOptions, session: Session): Promise<number> {
  const wrk = await wrkVersion();
  if (wrk === undefined) {
    say("wrk is missing, the client that posts the leads. On Debian: apt-get install wrk");
    return 1;
  }
  mkdirSync(buildFolder, { recursive: true });
  const machine = describeMachine(buildFolder);
  if (machine.loadBefore > 0.5) {
    say(`The machine is busy (load ${machine.loadBefore.toFixed(1)}): take the figures for a smoke test`);
  }
  if (!options.profile) await installPeers();
  const stage = session.stage = await openStage();
  const bodies = makeBodies(bodyCount);
  const bench: Bench = { options, stage, bodies, load: writeLoad(buildFolder, bodies, stage.keys), say };
  if (options.profile) {
    console.log(await profile(bench));
    return 0;
  }
  const postgresql = await stage.describe();
  const { rows, failures } = await measureAll(bench, session);
  console.log(`\n${renderTable(rows)}`);
  const file = join(buildFolder, "intake.json");
  const asked = { ...options, rows: [...options.rows] };
  const about = { at: new Date().toISOString(), machine, wrk, postgresql, options: asked, conditions };
  writeFileSync(file, `${JSON.stringify({ ...about, rows: toJson(rows), failures }, null, 2)}\n`);
  console.log(`\nPostgreSQL ${postgresql.server_version}: ${JSON.stringify(postgresql)}`);
  console.log(`${JSON.stringify(machine)}\n${conditions.join("\n")}\n${file}`);
  for (const failure of failures) say(`\nNot measured: ${failure}`);
  return failures.length === 0 ? 0 : 1;
}

const options = optionsOrExit(readOptions, help);
if (options === "help") console.log(help);
else await runSession((session) => main(options, session));
