/**
 * `npm run migrate`: brings the database to the shape that this version expects. Exit status 1 when that fails.
 *
 * @module
 */

import { migrate } from "../src/store/migrate.ts";
import { findDatabaseUrl } from "./database_url.ts";
import { explainSetup } from "./explain.ts";

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

try {
  await run();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
