/** Explains errors of commands that set up a database. */

import postgres from "postgres";
import { addressFault } from "../src/store/address.ts";
import { storeFailure } from "../src/store/failure.ts";
import { explainFailure } from "../src/ctl/failure.ts";

/**
 * An error as one message: for a statement of `sql/`, PostgreSQL's, which contains no lead here; for the connection, ours,
 * which contains no password.
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
