/**
 * Explains failures of the store to operators, in one table for the services, `ctl` and the migration. Never prints a
 * connection string, which holds a password.
 */

import postgres from "postgres";
import { namesOf, parseDatabaseUrl } from "./address.ts";
import { describeError, Unavailable } from "./pool.ts";
import { NoPrimary } from "./unavailable.ts";

/** What a failure means for the operator. */
export interface StoreFailure {
  /**
   * `no_primary`: no server of several takes writes. `pooler`: it was not declared. `given_up`, `locked`: the server
   * cancelled the statement, which had no effect. `outcome_unknown`: it may have had one.
   */
  readonly kind:
    | "unreachable"
    | "no_primary"
    | "pooler"
    | "login_refused"
    | "no_such_database"
    | "not_migrated"
    | "not_permitted"
    | "read_only"
    | "given_up"
    | "locked"
    | "outcome_unknown"
    | "other";
  /** Safe to print. */
  readonly code: string;
}

const byState: readonly (readonly [RegExp, StoreFailure["kind"]])[] = [
  [/^28/, "login_refused"],
  [/^3D000$/, "no_such_database"],
  // A missing table, column, function or schema.
  [/^(42P01|42703|42883|3F000)$/, "not_migrated"],
  [/^42501$/, "not_permitted"],
  [/^25006$/, "read_only"],
  [/^55P03$/, "locked"],
  [/^(57014|40P01)$/, "given_up"],
  [/^(57P03|53)/, "unreachable"],
];
const neverConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENOENT|EACCES|EPERM|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT|ETIMEDOUT|EAFNOSUPPORT)$/;

/** Classifies an error, or returns `null` when it is not a failure of the store. */
export function storeFailure(error: unknown): StoreFailure | null {
  const cause = error instanceof Unavailable && error.cause !== undefined ? error.cause : error;
  if (cause instanceof postgres.PostgresError) {
    if (cause.code === "08P01" && /startup parameter/.test(cause.message)) {
      return { kind: "pooler", code: "08P01" };
    }
    const kind = byState.find(([states]) => states.test(cause.code))?.[1] ??
      (error instanceof Unavailable ? "outcome_unknown" : "other");
    return { kind, code: describeError(cause) };
  }
  if (cause instanceof NoPrimary) return { kind: "no_primary", code: cause.message };
  const code = (cause as { code?: unknown } | null)?.code;
  if (typeof code === "string" && neverConnected.test(code)) return { kind: "unreachable", code };
  if (error instanceof Unavailable) return { kind: "outcome_unknown", code: describeError(cause) };
  return null;
}

export interface DatabaseSetting {
  readonly databaseUrl: string;
  readonly name: string;
  /** The role whose rights the program needs; default: the schema's owner. */
  readonly group?: string;
}

/** What failed and how to fix it, with the code, without a full stop. */
export function failureSentence(
  failure: StoreFailure,
  setting: DatabaseSetting,
): string {
  const { code } = failure;
  const { name } = setting;
  const { host, database, user } = place(setting.databaseUrl);
  switch (failure.kind) {
    case "unreachable":
      return `The database at ${host} cannot be reached (${code}); check that it is running and that ${name} names it`;
    case "no_primary":
      return `None of the servers in ${name} takes writes (${code}); check that one of them is the primary`;
    case "pooler":
      return `${name} names a pooler that refuses connection settings (${code}); add ?pooler=transaction to it`;
    case "login_refused":
      return `The database at ${host} refuses the login of ${user} (${code}); check user and password in ${name}`;
    case "no_such_database":
      return `There is no database ${database} at ${host} (${code}); check ${name}, or create it and run: npm run migrate`;
    case "not_migrated":
      return `The database ${database} at ${host} is not migrated for this program (${code}); run: npm run migrate`;
    case "not_permitted":
      return `The database role ${user} may not do this (${code}); ${
        setting.group === undefined
          ? "use the role that owns the schema"
          : `run as the role that owns the schema: grant ${setting.group} to ${user}`
      }`;
    case "read_only":
      return `The database at ${host} is read-only; check that ${name} names the primary`;
    case "given_up":
      return `The database cancelled the statement (${code})`;
    case "locked":
      return `Another session of the database ${database} at ${host} holds a lock that this needs (${code}); pg_stat_activity shows it, often as idle in transaction`;
    case "outcome_unknown":
      return `The database at ${host} did not answer (${code})`;
    case "other":
      return `The database refused the statement (${code})`;
  }
}

/** As {@linkcode storeFailure}, but `null` for a bare code such as `EACCES`, which may be a listener's. */
export function certainStoreFailure(error: unknown): StoreFailure | null {
  const isCertain = error instanceof Unavailable ||
    error instanceof postgres.PostgresError;
  return isCertain ? storeFailure(error) : null;
}

function place(
  databaseUrl: string,
): { host: string; database: string; user: string } {
  const address = parseDatabaseUrl(databaseUrl);
  return {
    host: namesOf(address),
    database: address.database ?? "postgres",
    user: address.user ?? "the default user",
  };
}
