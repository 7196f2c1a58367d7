/** Explains errors in commands that set up a database. */

import postgres from "postgres";
import { databaseUrlError } from "../src/store/address.ts";
import { classifyStoreFailure } from "../src/store/failure.ts";
import { explainFailure } from "../src/ctl/failure.ts";

/**
 * Returns a message that explains an error: for a failed statement, PostgreSQL's text, which contains no lead here; for
 * a failed connection, our own text, which contains no password.
 */
export function explainSetup(error: unknown, databaseUrl: string): string {
  const fault = databaseUrlError(databaseUrl);
  if (fault !== null) return `DATABASE_URL ${fault}`;
  const kind = classifyStoreFailure(error)?.kind;
  if (error instanceof postgres.PostgresError && (kind === "other" || kind === "not_migrated")) {
    return `The database refused a statement: ${error.message} (SQLSTATE ${error.code})`;
  }
  return explainFailure(error, databaseUrl) ?? (error instanceof Error ? error.message : String(error));
}
