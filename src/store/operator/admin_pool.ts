/** The operator's connection to the store, and what its statements share. */

import type postgres from "postgres";
import { Pool } from "../pool.ts";
import { Primary } from "../primary.ts";

// Longer than the 10 s of a commit, because a revocation waits for its key's commits; not much longer, because the
// key's posts wait behind the revocation.
const statementTimeoutMs = 15_000;

// The server cancels a statement before this.
const deadlineMs = 20_000;

/** Runs an operator's statement. Throws what {@linkcode Pool.run} throws. */
export function ask<T>(pool: Pool, work: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
  return pool.run(deadlineMs, work);
}

/** The only row that an operator's statement returns, or `null`. */
export async function askOne<Row>(
  pool: Pool,
  work: (sql: postgres.Sql) => PromiseLike<readonly Row[]>,
): Promise<Row | null> {
  const [row] = await ask(pool, work);
  return row ?? null;
}

/** Opens one connection for a command. The audit records `claimed` as the user's own, unverified name. */
export function openAdminPool(databaseUrl: string, claimed = ""): Pool {
  return new Pool({
    primary: new Primary(databaseUrl),
    name: "ctl",
    connectionsMax: 1,
    statementTimeoutMs,
    settings: { "lead_intake.claimed": claimed },
  });
}

/** Calls a SQL function, or with an address its `console_` variant, which audits the console's client. */
export function operatorCall(
  sql: postgres.Sql,
  address: string | null,
  name: string,
  args: postgres.PendingQuery<postgres.Row[]>,
) {
  return address === null ? sql`${sql(name)}(${args})` : sql`${sql(`console_${name}`)}(${args}, ${address})`;
}

/** Calls a SQL function as {@linkcode operatorCall} does and returns its outcome, a word. */
export async function decide<Outcome extends string>(
  pool: Pool,
  address: string | null,
  name: string,
  args: (sql: postgres.Sql) => postgres.PendingQuery<postgres.Row[]>,
): Promise<Outcome> {
  const [row] = await ask(
    pool,
    (sql) => sql<{ outcome: Outcome }[]>`select ${operatorCall(sql, address, name, args(sql))} as outcome`,
  );
  return row?.outcome as Outcome;
}

/** A count up to a bound. */
export interface BoundedCount {
  readonly count: number;
  readonly isMore: boolean;
}

/** Bounds what a page reads of a backlog; beyond, it says "10,000+". */
export const countedMax = 10_000;

/** Bounds a count that reaches at most {@linkcode countedMax} + 1. */
export function boundedCount(count: number): BoundedCount {
  return { count: Math.min(count, countedMax), isMore: count > countedMax };
}

/** For `to_char(… at time zone 'UTC', …)`: ISO 8601 in UTC, to the millisecond. */
export const isoTime = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';

/** A SQL time as ISO 8601 in UTC, to the millisecond. */
export const isoOf = (sql: postgres.Sql, time: postgres.PendingQuery<postgres.Row[]>) =>
  sql`to_char(${time} at time zone 'UTC', ${isoTime})`;
