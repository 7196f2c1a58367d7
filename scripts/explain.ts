/**
 * What stood in the way of a command that sets up a database, for the person at the terminal.
 *
 * @module
 */

import postgres from "postgres";
import { isDatabaseUrl } from "../src/settings/reader.ts";
import { storeFailure } from "../src/store/failure.ts";
import { explainFailure } from "./ctl/failure.ts";

/**
 * One message. What a statement of `sql/` did wrong is told in PostgreSQL's words, which hold no lead here; what is wrong
 * with the connection in ours, which hold no password.
 */
export function explainSetup(error: unknown, databaseUrl: string): string {
  if (!isDatabaseUrl(databaseUrl)) {
    return "DATABASE_URL is no address such as postgres://user:password@host:5432/database";
  }
  const kind = storeFailure(error)?.kind;
  if (error instanceof postgres.PostgresError && (kind === "other" || kind === "not_migrated")) {
    return `The database refused a statement of sql/: ${error.message} (SQLSTATE ${error.code})`;
  }
  return explainFailure(error, databaseUrl) ?? (error instanceof Error ? error.message : String(error));
}
