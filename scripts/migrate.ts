/**
 * `npm run migrate`: migrates the database to this version's schema. The exit status is 1 after a failure, and 2 if
 * an argument is given.
 */

import { migrate } from "../src/store/schema/migrate.ts";
import { findDatabaseUrl } from "./running.ts";
import { explainSetup } from "./explain.ts";
import { runCommand } from "./run_command.ts";

const usage = `Usage: npm run migrate

Applies the files in sql/ that the database lacks: each numbered file in its own transaction, then functions and rights.
The database is the one in DATABASE_URL, or that of the running npm start.`;

async function run(): Promise<void> {
  const databaseUrl = findDatabaseUrl();
  let applied: string[];
  try {
    applied = await migrate(databaseUrl);
  } catch (error) {
    throw new Error(explainSetup(error, databaseUrl), { cause: error });
  }
  for (const name of applied) console.log(`Applied sql/${name}`);
  if (applied.length === 0) console.log("The database is current");
}

await runCommand(usage, run);
