/**
 * `npm run migrate`: brings the database to the shape that this version expects.
 *
 * @module
 */

import { migrate } from "../src/store/migrate.ts";
import { findDatabaseUrl } from "./database_url.ts";

try {
  const applied = await migrate(findDatabaseUrl());
  for (const name of applied) console.log(`applied sql/${name}`);
  if (applied.length === 0) console.log("the database is current");
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
