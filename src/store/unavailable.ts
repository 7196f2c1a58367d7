/** Classifies failed statements: the store is unavailable or read-only, or the statement itself is wrong. */

import postgres from "postgres";

/** The store did not answer or takes no writes; whether a statement under way took effect is unknown. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** No server of the address takes writes. The message says why, server by server. */
export class NoPrimary extends Error {
  override readonly name = "NoPrimary";
  readonly code = "NO_PRIMARY";
}

// SQLSTATEs that mean "not accepting" rather than "this statement is wrong".
const unavailableStates = /^(08|53|57P0|57014|58|25006|55P03|28|3D000)/;
// Read-only; out of disk or other resources (53100 and its class); I/O errors (58030).
const unwritableStates = /^(25006|53|58)/;
// Bad data, a constraint, a program limit: caused by the statement, not by the store.
const ownFaultStates = /^(22|23|54)/;
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

/** All of an error that may be logged: `detail`, `parameters` and `args` hold personal data. */
export function describeError(error: unknown): string {
  if (error instanceof postgres.PostgresError) {
    const constraint = error.constraint_name === undefined ? "" : ` (${error.constraint_name})`;
    return `SQLSTATE ${error.code}${constraint}: ${error.routine ?? "no routine"}`;
  }
  if (error instanceof Unavailable || error instanceof NoPrimary) return error.message;
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "unexpected error";
}

/** Whether an error comes from the connection rather than from the server. */
export function isConnectionLoss(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return !(error instanceof postgres.PostgresError) && typeof code === "string" && connectionCodes.has(code);
}

/** An {@linkcode Unavailable} for errors that mean that; `null` for a wrong statement or a bug. */
export function asUnavailable(error: unknown): Unavailable | null {
  if (error instanceof Unavailable) return error;
  const isOne = error instanceof postgres.PostgresError
    ? unavailableStates.test(error.code)
    : isConnectionLoss(error);
  return isOne ? new Unavailable(describeError(error), { cause: error }) : null;
}

/** The SQLSTATE with which the server refused a statement; `null` when it did not answer. */
export function refusedWith(error: unknown): string | null {
  const cause = error instanceof Unavailable ? error.cause : error;
  return cause instanceof postgres.PostgresError ? cause.code : null;
}

/** Whether the server says that it takes no writes at all: it is read-only, or its disk is full or broken. */
export function reportsUnwritable(error: unknown): boolean {
  return unwritableStates.test(refusedWith(error) ?? "");
}

/** Whether the server refused a statement for a reason that may not be the statement's own. */
export function isStoreRefusal(error: unknown): boolean {
  const state = refusedWith(error);
  return state !== null && !ownFaultStates.test(state);
}

/** Whether the error is of the driver's own query for array types, whose promise nobody handles. */
export function isDriverTypeQuery(error: unknown): boolean {
  const { query } = Object(error) as { readonly query?: unknown };
  return typeof query === "string" && query.includes("typarray");
}
