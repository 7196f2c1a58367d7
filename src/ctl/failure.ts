/**
 * What a failure of the store means for the person at the terminal: what has failed, and what became of the change.
 */

import { failureSentence, type StoreFailure, storeFailure } from "#src/store/failure.ts";

/** The message for a failure of the store, or `null` for what is none. */
export function explainFailure(error: unknown, databaseUrl: string): string | null {
  const failure = storeFailure(error);
  if (failure === null) return null;
  return failureSentence(failure, { databaseUrl, name: "DATABASE_URL" }) + consequence[failure.kind];
}

const consequence: Readonly<Record<StoreFailure["kind"], string>> = {
  unreachable: "",
  no_primary: ". Nothing was changed",
  pooler: ". Nothing was changed",
  login_refused: "",
  no_such_database: "",
  not_migrated: "",
  not_permitted: "",
  read_only: ". Nothing was changed",
  given_up: "; nothing was changed, run the command again",
  locked: "; nothing was changed, run the command again when it has ended",
  outcome_unknown: "; whether the change was made is unknown: look, then run the command again",
  other: "; nothing was changed",
};
