/** Opens the operator's connection to the store, and calls operators' functions. */

import type postgres from "postgres";
import { Pool } from "../pool.ts";
import { Primary } from "../primary.ts";
import { query, queryTimeoutMs } from "../query.ts";

/** Creates a ctl command's pool of one connection. The audit log records `claimed` as the operator's unverified name. */
export function openAdminPool(
  databaseUrl: string,
  { claimed = "", statementTimeoutMs = queryTimeoutMs }: {
    readonly claimed?: string;
    readonly statementTimeoutMs?: number | undefined;
  } = {},
): Pool {
  return new Pool({
    primary: new Primary(databaseUrl),
    name: "ctl",
    connectionsMax: 1,
    statementTimeoutMs,
    settings: { "lead_intake.claimed": claimed },
  });
}

/** Returns a call to a SQL function or, with the name of a console operator, to its `console_` variant, which audits it. */
export function operatorCall(
  sql: postgres.Sql,
  operator: string | null,
  name: string,
  args: postgres.PendingQuery<postgres.Row[]>,
) {
  return operator === null
    ? sql`${sql(name)}(${args})`
    : sql`${sql(`console_${name}`)}(${args}, ${operator})`;
}

/** Calls a SQL function like {@linkcode operatorCall} and returns its outcome. */
export async function runOperatorCall<Outcome extends string>(
  pool: Pool,
  operator: string | null,
  name: string,
  args: (sql: postgres.Sql) => postgres.PendingQuery<postgres.Row[]>,
): Promise<Outcome> {
  const [row] = await query(
    pool,
    (sql) => sql<{ outcome: Outcome }[]>`select ${operatorCall(sql, operator, name, args(sql))} as outcome`,
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

/** Adds counts. */
export function sumBounded(counts: readonly BoundedCount[]): BoundedCount {
  return {
    count: counts.reduce((sum, { count }) => sum + count, 0),
    isMore: counts.some(({ isMore }) => isMore),
  };
}

/** Formats a SQL time as ISO 8601 in UTC, with milliseconds. */
export const isoTime = (sql: postgres.Sql, time: postgres.PendingQuery<postgres.Row[]>) =>
  sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
