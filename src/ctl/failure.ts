/** Explains store failures to operators: the cause, and whether the failed statement changed anything. */

import { classifyStoreFailure, describeStoreFailure, type StoreFailure } from "#src/store/failure.ts";

/** Returns the message for a store failure, or `null` for other errors. */
export function explainFailure(error: unknown, databaseUrl: string): string | null {
  const failure = classifyStoreFailure(error);
  if (failure === null) return null;
  return describeStoreFailure(failure, { databaseUrl, name: "DATABASE_URL" }) + consequence[failure.kind];
}

// A command may have changed something with an earlier statement.
const consequence: Readonly<Record<StoreFailure["kind"], string>> = {
  unreachable: "",
  no_connection: "",
  no_resources: "; the failed statement changed nothing",
  no_primary: "; the failed statement changed nothing",
  pooler: ". Nothing was changed",
  login_refused: "",
  no_such_database: "",
  not_migrated: "",
  not_permitted: "",
  read_only: "; the failed statement changed nothing",
  cancelled: "; it changed nothing, run the command again",
  locked: "; the statement changed nothing, run the command again when that session has ended",
  outcome_unknown: "; the change may or may not have been made: check, then run the command again",
  other: "; it changed nothing",
};
