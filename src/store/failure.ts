/** Describes failures of the store for operators, without connection strings, which contain passwords. */

import postgres from "postgres";
import { formatServers, parseDatabaseUrl } from "./address.ts";
import { describeError, Unavailable } from "./pool.ts";
import { NoPrimary } from "./unavailable.ts";

export interface StoreFailure {
  /**
   * `no_connection`: the server refuses new connections at the moment. `no_primary`: none of several servers accepts
   * writes. `pooler`: the URL is a pooler's but lacks `?pooler=transaction`. `cancelled`, `locked`: the server canceled
   * the statement, which had no effect. `outcome_unknown`: the statement may have taken effect.
   */
  readonly kind:
    | "unreachable"
    | "no_connection"
    | "no_resources"
    | "no_primary"
    | "pooler"
    | "login_refused"
    | "no_such_database"
    | "not_migrated"
    | "not_permitted"
    | "read_only"
    | "cancelled"
    | "locked"
    | "outcome_unknown"
    | "other";
  /** An error code or a description, without secrets. */
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
  [/^(57014|40P01)$/, "cancelled"],
  [/^(57P03|53300)$/, "no_connection"],
  [/^53/, "no_resources"],
];
const neverConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENOENT|EACCES|EPERM|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT|ETIMEDOUT|EAFNOSUPPORT)$/;

/** Classifies an error; returns `null` for an error that is not a failure of the store. */
export function classifyStoreFailure(error: unknown): StoreFailure | null {
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
  /** The role whose rights the program needs. Default: the schema's owner. */
  readonly requiredRole?: string;
}

/** Returns one sentence, without a final period: what failed and, if known, how to fix it. */
export function describeStoreFailure(
  failure: StoreFailure,
  setting: DatabaseSetting,
): string {
  const { code } = failure;
  const { name } = setting;
  const { host, database, user } = parseConnectionTarget(setting.databaseUrl);
  switch (failure.kind) {
    case "unreachable":
      return `The database at ${host} cannot be reached (${code}); check that it is running and that ${name} is correct`;
    case "no_connection":
      return `The database at ${host} accepts no connections at the moment (${code}): it has none left, or it is starting or stopping`;
    case "no_resources":
      return `The database at ${host} lacks disk space or memory (${code}); check both on its machine`;
    case "no_primary":
      return `None of the servers in ${name} accepts writes (${code}); check that one of them is the primary`;
    case "pooler":
      return `${name} is the URL of a pooler that refuses connection settings (${code}); add ?pooler=transaction to it`;
    case "login_refused":
      return `The database at ${host} refuses the login of ${user} (${code}); check the user and password in ${name}`;
    case "no_such_database":
      return `There is no database ${database} at ${host} (${code}); check ${name}, or create the database and run: npm run migrate`;
    case "not_migrated":
      return `The database ${database} at ${host} is not migrated for this program (${code}); run: npm run migrate`;
    case "not_permitted":
      return `The database role ${user} lacks a privilege for this command (${code}); ${
        setting.requiredRole === undefined
          ? "use the role that owns the schema"
          : `as the role that owns the schema, run: grant ${setting.requiredRole} to ${user}`
      }`;
    case "read_only":
      return `The database at ${host} is read-only; check that ${name} is the URL of the primary`;
    case "cancelled":
      return `The database canceled the statement (${code})`;
    case "locked":
      return `Another session of the database ${database} at ${host} holds a lock that this command needs (${code}); pg_stat_activity shows it, often as idle in transaction`;
    case "outcome_unknown":
      return `The database at ${host} did not respond (${code})`;
    case "other":
      return `The database refused the statement (${code})`;
  }
}

/** Like {@linkcode classifyStoreFailure}, but returns `null` for system errors, such as a listener's `EACCES`. */
export function unambiguousStoreFailure(error: unknown): StoreFailure | null {
  const isOfStore = error instanceof Unavailable || error instanceof postgres.PostgresError;
  return isOfStore ? classifyStoreFailure(error) : null;
}

function parseConnectionTarget(databaseUrl: string): { host: string; database: string; user: string } {
  const address = parseDatabaseUrl(databaseUrl);
  return {
    host: formatServers(address),
    database: address.database ?? "postgres",
    user: address.user ?? "the default user",
  };
}
