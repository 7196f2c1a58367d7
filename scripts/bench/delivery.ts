/**
 * `npm run bench:delivery`: the table of what the delivery must reach, measured side by side with its peers on
 * one embedded PostgreSQL, printed and written to `build/bench/delivery.json`.
 *
 * @module
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureDevCertificates } from "../dev_certificates.ts";
import type { DeliveryBench } from "./backlog.ts";
import { killAll } from "./children.ts";
import { type DeliveryBenchOptions, help, readOptions } from "./delivery_options.ts";
import { profileDelivery } from "./delivery_profile.ts";
import { makeBodies } from "./leads.ts";
import { describeMachine } from "./machine.ts";
import { renderTable, type RowResult, toJson } from "./report.ts";
import { measureDrained } from "./rows/drained.ts";
import { measureHandover } from "./rows/handover.ts";
import { measureHeld } from "./rows/held.ts";
import { measureOffered } from "./rows/offered.ts";
import { installPeers, optionsOrExit, runSession, say, type Session } from "./session.ts";
import { openStage } from "./stage.ts";
import { buildFolder } from "./targets.ts";

/** Different leads that are posted in turn. */
const bodyCount = 2_000;

/** How everybody was run, beside the settings of PostgreSQL. */
const conditions = [
  "one machine for client, service, sink and PostgreSQL; loopback; a fresh database and a fresh sink each round",
  "ours: node src/main.ts with everything on and its default settings; it keeps a row for every attempt, the event, leases",
  "peers: an event is a job of its own with a retry of its own, its body one string in the payload; no row for an attempt, no rate limits, no breaker, no time limit for a request; graphile-worker logs no successes, pg-boss does no maintenance",
  "sink: a process that splits the bytes into requests and answers 200 at once; one request at a time on a connection",
  "drained/s: backlog through the time from the first arrival at the sink until the queue is empty",
  "checked after each round: every event has arrived at the sink once, nothing is left in the queue or the outbox",
  "pg-boss 12.35.0: the newest that could be installed here; 12.38.0 wants a rrule-temporal that the registry at hand lacks",
];

async function measureAll(
  bench: DeliveryBench,
  session: Session,
): Promise<{ rows: RowResult[]; failures: string[] }> {
  const rows: RowResult[] = [];
  const failures: string[] = [];
  for (
    const measure of [measureDrained, measureHandover, measureHeld, measureOffered]
  ) {
    try {
      rows.push(...await measure(bench));
    } catch (error) {
      // The other rows are worth having all the same.
      if (session.isStopping) throw error;
      failures.push(`${measure.name}: ${error instanceof Error ? error.stack : error}`);
      say(failures.at(-1) as string);
      killAll();
    }
  }
  return { rows: rows.sort((a, b) => a.row - b.row), failures };
}

async function main(options: DeliveryBenchOptions, session: Session): Promise<number> {
  mkdirSync(buildFolder, { recursive: true });
  const certificates = ensureDevCertificates(join(buildFolder, "certificates"));
  if (certificates.kind !== "ready") {
    say(certificates.message);
    return 1;
  }
  const machine = describeMachine(buildFolder);
  if (machine.loadBefore > 0.5) {
    say(`The machine is busy (load ${machine.loadBefore.toFixed(1)}): take the figures for a smoke test`);
  }
  if (!options.profile) await installPeers();
  const stage = session.stage = await openStage();
  const bench: DeliveryBench = { options, stage, certificates, bodies: makeBodies(bodyCount), say };
  if (options.profile) {
    console.log(await profileDelivery(bench));
    return 0;
  }
  const postgresql = await stage.describe();
  const { rows, failures } = await measureAll(bench, session);
  console.log(`\n${renderTable(rows)}`);
  const file = join(buildFolder, "delivery.json");
  const asked = { ...options, rows: [...options.rows] };
  const about = { at: new Date().toISOString(), machine, postgresql, options: asked, conditions };
  writeFileSync(file, `${JSON.stringify({ ...about, rows: toJson(rows), failures }, null, 2)}\n`);
  console.log(`\nPostgreSQL ${postgresql.server_version}: ${JSON.stringify(postgresql)}`);
  console.log(`${JSON.stringify(machine)}\n${conditions.join("\n")}\n${file}`);
  for (const failure of failures) say(`\nNot measured: ${failure}`);
  return failures.length === 0 ? 0 : 1;
}

const options = optionsOrExit(readOptions, help);
if (options === "help") console.log(help);
else await runSession((session) => main(options, session));
