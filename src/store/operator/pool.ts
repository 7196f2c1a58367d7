/**
 * The operator's connection to the store, and what its failures mean.
 *
 * @module
 */

import postgres from "postgres";
import { describeError, Pool, Unavailable } from "../pool.ts";

// Longer than the 10 s that a commit may take, since a revocation waits for the commits of its key; not much
// longer, since the key's posts wait behind the revocation.
const statementTimeoutMs = 15_000;

/** Every statement of the operator gets this long. The server gives it up before that. */
export const adminDeadlineMs = 20_000;

/**
 * One connection, for a command that runs and ends. `claimed` stands in the audit as what whoever runs it says of
 * himself.
 */
export function openAdminPool(databaseUrl: string, claimed = ""): Pool {
  return new Pool({
    databaseUrl,
    name: "ctl",
    connectionsMax: 1,
    statementTimeoutMs,
    settings: { "lead_intake.claimed": claimed },
  });
}

/** What a failure of a statement means for the operator. `code` is safe to print. */
export type StoreFailure =
  | { readonly kind: "unreachable"; readonly code: string }
  | { readonly kind: "login_refused"; readonly code: string }
  | { readonly kind: "no_such_database"; readonly code: string }
  | { readonly kind: "not_migrated"; readonly code: string }
  | { readonly kind: "not_permitted"; readonly code: string }
  | { readonly kind: "read_only"; readonly code: string }
  /** The server gave the statement up; it has had no effect. */
  | { readonly kind: "given_up"; readonly code: string }
  /** The same, because another session did not let go of a lock. */
  | { readonly kind: "locked"; readonly code: string }
  /** Whether the statement has had an effect is unknown. */
  | { readonly kind: "outcome_unknown"; readonly code: string }
  | { readonly kind: "other"; readonly code: string };

const byState: readonly (readonly [RegExp, StoreFailure["kind"]])[] = [
  [/^28/, "login_refused"],
  [/^3D000$/, "no_such_database"],
  // A table, column or function that this program expects is not there.
  [/^(42P01|42703|42883|3F000)$/, "not_migrated"],
  [/^42501$/, "not_permitted"],
  [/^25006$/, "read_only"],
  [/^55P03$/, "locked"],
  [/^(57014|40P01)$/, "given_up"],
  [/^(57P03|53)/, "unreachable"],
];
const neverConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENOENT|EACCES|EPERM|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT|ETIMEDOUT|EAFNOSUPPORT)$/;

/** Tells the failures of a statement apart, or returns `null` for what is no failure of the store. */
export function storeFailure(error: unknown): StoreFailure | null {
  const cause = error instanceof Unavailable && error.cause !== undefined ? error.cause : error;
  if (cause instanceof postgres.PostgresError) {
    const kind = byState.find(([states]) => states.test(cause.code))?.[1] ??
      (error instanceof Unavailable ? "outcome_unknown" : "other");
    return { kind, code: describeError(cause) };
  }
  const code = (cause as { code?: unknown } | null)?.code;
  if (typeof code === "string" && neverConnected.test(code)) return { kind: "unreachable", code };
  if (error instanceof Unavailable) return { kind: "outcome_unknown", code: describeError(cause) };
  return null;
}
