/**
 * What stood in the way of a command that sets up a database, for the person at the terminal.
 *
 * @module
 */

import postgres from "postgres";
import { addressFault } from "../src/store/address.ts";
import { storeFailure } from "../src/store/failure.ts";
import { explainFailure } from "../src/ctl/failure.ts";

/**
 * One message. What a statement of `sql/` did wrong is told in PostgreSQL's words, which hold no lead here; what is wrong
 * with the connection in ours, which hold no password.
 */
export function explainSetup(error: unknown, databaseUrl: string): string {
  const fault = addressFault(databaseUrl);
  if (fault !== null) return `DATABASE_URL ${fault}`;
  const kind = storeFailure(error)?.kind;
  if (error instanceof postgres.PostgresError && (kind === "other" || kind === "not_migrated")) {
    return `The database refused a statement of sql/: ${error.message} (SQLSTATE ${error.code})`;
  }
  return explainFailure(error, databaseUrl) ?? (error instanceof Error ? error.message : String(error));
}
