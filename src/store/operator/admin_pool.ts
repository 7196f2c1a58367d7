/** Opens the operator's connection to the store, and runs operators' statements. */

import type postgres from "postgres";
import { Pool } from "../pool.ts";
import { Primary } from "../primary.ts";

// Longer than a commit's 10 s, because a revocation waits for its key's commits; not much longer, because the key's
// posts wait for the revocation.
const statementTimeoutMs = 15_000;
const deadlineMs = 20_000;

/** Runs an operator's statement. Throws what {@linkcode Pool.run} throws. */
export function query<T>(pool: Pool, statement: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
  return pool.run(deadlineMs, statement);
}

/** Runs an operator's statement and returns its first row, or `null`. */
export async function queryOne<Row>(
  pool: Pool,
  statement: (sql: postgres.Sql) => PromiseLike<readonly Row[]>,
): Promise<Row | null> {
  const [row] = await query(pool, statement);
  return row ?? null;
}

/** Creates a ctl command's pool of one connection. The audit log records `claimed` as the operator's unverified name. */
export function openAdminPool(databaseUrl: string, claimed = ""): Pool {
  return new Pool({
    primary: new Primary(databaseUrl),
    name: "ctl",
    connectionsMax: 1,
    statementTimeoutMs,
    settings: { "lead_intake.claimed": claimed },
  });
}

/** Returns a call to a SQL function or, with the address of a console client, to its `console_` variant, which audits it. */
export function operatorCall(
  sql: postgres.Sql,
  address: string | null,
  name: string,
  args: postgres.PendingQuery<postgres.Row[]>,
) {
  return address === null ? sql`${sql(name)}(${args})` : sql`${sql(`console_${name}`)}(${args}, ${address})`;
}

/** Calls a SQL function like {@linkcode operatorCall} and returns its outcome. */
export async function runOperatorCall<Outcome extends string>(
  pool: Pool,
  address: string | null,
  name: string,
  args: (sql: postgres.Sql) => postgres.PendingQuery<postgres.Row[]>,
): Promise<Outcome> {
  const [row] = await query(
    pool,
    (sql) => sql<{ outcome: Outcome }[]>`select ${operatorCall(sql, address, name, args(sql))} as outcome`,
  );
  return row?.outcome as Outcome;
}

/** A count that stops at a bound; `isMore` if there are more. */
export interface BoundedCount {
  readonly count: number;
  readonly isMore: boolean;
}

/** The maximum number of rows that a page counts. */
export const countedMax = 10_000;

/** Converts a count of at most {@linkcode countedMax} + 1 rows. */
export function boundedCount(count: number): BoundedCount {
  return { count: Math.min(count, countedMax), isMore: count > countedMax };
}

/** Formats a SQL time as ISO 8601 in UTC, with milliseconds. */
export const isoTime = (sql: postgres.Sql, time: postgres.PendingQuery<postgres.Row[]>) =>
  sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
