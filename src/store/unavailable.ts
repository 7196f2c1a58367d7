/** Classifies errors: the store is unavailable, it rejects writes, or the statement itself is invalid. */

import postgres from "postgres";

/** The store did not respond or rejects writes; whether the statement took effect is unknown. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** No server in the database URL accepts writes. The message gives the reason for each. */
export class NoPrimary extends Error {
  override readonly name = "NoPrimary";
  readonly code = "NO_PRIMARY";
}

// SQLSTATEs that mean that the store is unavailable, not that the statement is invalid.
const unavailableStates = /^(08|53|57P0|57014|58|25006|55P03|28|3D000)/;
// Read-only; out of disk or other resources (53100 and its class); I/O errors (58030).
const unwritableStates = /^(25006|53|58)/;
// Invalid data, a constraint violation, a program limit: caused by the statement, not by the store.
const invalidStatementStates = /^(22|23|54)/;
const connectionCodes = new Set([
  "NO_PRIMARY",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "EAI_AGAIN",
]);

/** Describes an error for the log, without `detail`, `parameters` and `args`, which contain personal data. */
export function describeError(error: unknown): string {
  if (error instanceof postgres.PostgresError) {
    const constraint = error.constraint_name === undefined ? "" : ` (${error.constraint_name})`;
    return `SQLSTATE ${error.code}${constraint}: ${error.routine ?? "no routine"}`;
  }
  if (error instanceof Unavailable || error instanceof NoPrimary) return error.message;
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "unexpected error";
}

/** Returns whether an error is a failure of the connection, not an error that the server returned. */
export function isConnectionLoss(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return !(error instanceof postgres.PostgresError) && typeof code === "string" && connectionCodes.has(code);
}

/** Converts an error to {@linkcode Unavailable}; returns `null` if the cause is an invalid statement or a bug. */
export function asUnavailable(error: unknown): Unavailable | null {
  if (error instanceof Unavailable) return error;
  const isUnavailable = error instanceof postgres.PostgresError
    ? unavailableStates.test(error.code)
    : isConnectionLoss(error);
  return isUnavailable ? new Unavailable(describeError(error), { cause: error }) : null;
}

/** Throws any error as {@linkcode Unavailable}, with the error as its cause. */
export function throwUnavailable(error: unknown): never {
  throw error instanceof Unavailable ? error : new Unavailable(describeError(error), { cause: error });
}

/** Returns the SQLSTATE with which the server refused a statement; `null` for any other error. */
export function sqlStateOf(error: unknown): string | null {
  const cause = error instanceof Unavailable ? error.cause : error;
  return cause instanceof postgres.PostgresError ? cause.code : null;
}

/**
 * Returns whether the server reports that it rejects writes: it is read-only, lacks disk space or other resources, or
 * has an I/O error.
 */
export function reportsUnwritable(error: unknown): boolean {
  return unwritableStates.test(sqlStateOf(error) ?? "");
}

/** Returns whether the server refused a statement for a reason that the statement may not have caused. */
export function isStoreRefusal(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== null && !invalidStatementStates.test(state);
}

/** Returns whether an error is from the driver's own query for array types, whose failure the driver does not handle. */
export function isDriverTypeQuery(error: unknown): boolean {
  const { query } = Object(error) as { readonly query?: unknown };
  return typeof query === "string" && query.includes("typarray");
}
