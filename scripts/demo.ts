/**
 * `npm run demo`: fills the database of a running `npm start` instance with a month of sample data. The exit status is
 * 1 on failure and 2 for an unknown argument.
 */

import postgres from "postgres";
import { Rollup } from "../src/store/jobs/rollup.ts";
import { findTenant } from "../src/store/operator/tenants.ts";
import { isDevelopment } from "./demo/development.ts";
import { fillMonth } from "./demo/month.ts";
import { inThePast } from "./demo/past.ts";
import { fillSamples } from "./demo/samples.ts";
import { addDemoTenants, firstSlug } from "./demo/tenants.ts";
import { findDatabaseUrl, findRunning } from "./running.ts";
import { runCommand } from "./run_command.ts";

const usage = `Usage: npm run demo

Fills the database of a running npm start instance with a month of sample leads and form submissions. The command
refuses any other database. A second run changes nothing.`;

/** Returns the database's URL. Throws an `Error` if the database must not be filled. */
async function developmentUrl(): Promise<string> {
  if (process.env.DATABASE_URL?.trim() || process.env.DATABASE_URL_FILE?.trim()) {
    throw new Error(
      "DATABASE_URL or DATABASE_URL_FILE is set, but the demo only fills npm start's own database: unset both",
    );
  }
  const databaseUrl = findDatabaseUrl();
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  try {
    if (await isDevelopment(sql)) return databaseUrl;
  } finally {
    await sql.end({ timeout: 5 });
  }
  throw new Error("This is not npm start's own database: nothing was changed");
}

async function run(): Promise<void> {
  const databaseUrl = await developmentUrl();
  const startedAtMs = Date.now();
  let done = "";
  await inThePast(databaseUrl, async (past) => {
    if (await findTenant(past.pool, firstSlug) !== null) {
      done = "The demo data is already there; nothing was changed.";
      return;
    }
    console.log("Adding a month of data …");
    await past.at(startedAtMs - 31 * 86_400_000);
    const tenants = await addDemoTenants(past.pool);
    const { leads, forms, refusals } = await fillMonth(past, { tenants, nowMs: startedAtMs });
    await past.at(startedAtMs);
    const rollup = new Rollup(past.pool);
    while (await rollup.runOnce() > 0);
    await fillSamples(past.pool, { tenantIds: tenants.map(({ id }) => id), refusals });
    done = `Added ${leads} leads and ${forms} form submissions for ${tenants.length} sandbox tenants.`;
  });
  console.log(`${done}\n\n${nextSteps()}`);
}

function nextSteps(): string {
  const addresses = new Map(findRunning()?.addresses);
  const ops = addresses.get("ops") ?? "http://127.0.0.1:9090";
  return `Open:
  ${ops}/?range=30d  the console: what needs attention, and the month's charts
  ${ops}/leads       the leads, with links to dead letters, held forms and collisions
  ${ops}/report      the report by source and by day, also as CSV
  npm run -s ctl -- dead list`;
}

await runCommand(usage, run);
