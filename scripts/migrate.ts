/**
 * `npm run migrate`: migrates the database to this version's schema. Exit status 1 on failure, 2 for arguments, because it
 * takes none.
 */

import process from "node:process";
import { migrate } from "../src/store/schema/migrate.ts";
import { findDatabaseUrl } from "./database_url.ts";
import { explainSetup } from "./explain.ts";

const usage = `Usage: npm run migrate

Applies the files of sql/ that the database lacks, each in a transaction of its own.
The database is the one that DATABASE_URL names, or that of an npm start that is running here.`;

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

const [argument] = process.argv.slice(2);
if (argument === "--help" || argument === "-h") {
  console.log(usage);
} else if (argument !== undefined) {
  console.error(`Unknown argument: ${argument}\n\n${usage}`);
  process.exitCode = 2;
} else {
  try {
    await run();
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
