/**
 * What a failure of the store means for the person at the terminal, and what to do about it. No
 * connection string is ever printed: it holds a password.
 *
 * @module
 */

import { type StoreFailure, storeFailure } from "#src/store/admin/pool.ts";

/** The message for a failure of the store, or `null` for what is none. */
export function explainFailure(error: unknown, databaseUrl: string): string | null {
  const failure = storeFailure(error);
  return failure === null ? null : explain(failure, place(databaseUrl));
}

function explain(failure: StoreFailure, where: { host: string; database: string; user: string }): string {
  const { code } = failure;
  switch (failure.kind) {
    case "unreachable":
      return `The database at ${where.host} cannot be reached (${code}); check that it is running (npm start brings one) and that DATABASE_URL names it`;
    case "login_refused":
      return `The database at ${where.host} refuses the login of ${where.user} (${code}); check user and password in DATABASE_URL`;
    case "no_such_database":
      return `There is no database ${where.database} at ${where.host}; check DATABASE_URL, or create it and run: npm run migrate`;
    case "not_migrated":
      return `The database ${where.database} at ${where.host} is not migrated for this program (${code}); run: npm run migrate`;
    case "not_permitted":
      return `The database role ${where.user} may not do this (${code}); use the role that owns the schema`;
    case "read_only":
      return `The database at ${where.host} is read-only; check that DATABASE_URL names the primary. Nothing was changed`;
    case "given_up":
      return `The database gave the statement up (${code}), another session may be holding it; nothing was changed, run the command again`;
    case "outcome_unknown":
      return `The database at ${where.host} did not answer (${code}); whether the change was made is unknown: look, then run the command again`;
    case "other":
      return `The database refused the statement (${code}); nothing was changed`;
  }
}

/** What may be said of a connection string. */
function place(databaseUrl: string): { host: string; database: string; user: string } {
  const url = new URL(databaseUrl);
  const host = url.hostname === "" ? (url.searchParams.get("host") ?? "localhost") : url.hostname;
  return {
    host: `${host}:${url.port === "" ? "5432" : url.port}`,
    database: decoded(url.pathname.slice(1)) || decoded(url.username) || "postgres",
    user: decoded(url.username) || "the default user",
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
