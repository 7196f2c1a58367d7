/**
 * The operator's connection to the store.
 *
 * @module
 */

import type postgres from "postgres";
import { Pool } from "../pool.ts";
import { Primary } from "../primary.ts";

// Longer than the 10 s that a commit may take, since a revocation waits for the commits of its key; not much
// longer, since the key's posts wait behind the revocation.
const statementTimeoutMs = 15_000;

// The server gives a statement up before that.
const deadlineMs = 20_000;

/** Runs a statement of the operator's. Throws what {@linkcode Pool.run} throws. */
export function ask<T>(pool: Pool, work: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
  return pool.run(deadlineMs, work);
}

/** The only row that a statement of the operator's finds, or `null`. */
export async function askOne<Row>(
  pool: Pool,
  work: (sql: postgres.Sql) => PromiseLike<readonly Row[]>,
): Promise<Row | null> {
  const [row] = await ask(pool, work);
  return row ?? null;
}

/**
 * One connection, for a command that runs and ends. `claimed` stands in the audit as what whoever runs it says of
 * himself.
 */
export function openAdminPool(databaseUrl: string, claimed = ""): Pool {
  return new Pool({
    primary: new Primary(databaseUrl),
    name: "ctl",
    connectionsMax: 1,
    statementTimeoutMs,
    settings: { "lead_intake.claimed": claimed },
  });
}

/**
 * The call of a function of the database by which an operator acts; the console's own notes the address that it was asked
 * from, and `null` is for `ctl`.
 */
export function acted(
  sql: postgres.Sql,
  address: string | null,
  name: string,
  args: postgres.PendingQuery<postgres.Row[]>,
) {
  return address === null ? sql`${sql(name)}(${args})` : sql`${sql(`console_${name}`)}(${args}, ${address})`;
}

/** A number that was counted up to a bound. */
export interface Bounded {
  readonly count: number;
  /** There are more. */
  readonly isMore: boolean;
}

/** Bounds what a page reads of a backlog; it says "10,000+" beyond. */
export const countedMax = 10_000;

/** Of a count that has gone one past {@linkcode countedMax} at most. */
export function bounded(count: number): Bounded {
  return { count: Math.min(count, countedMax), isMore: count > countedMax };
}

/** For `to_char(… at time zone 'UTC', …)`: ISO 8601 in UTC, to the millisecond. */
export const isoTime = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';

/** A time of a statement as ISO 8601 in UTC, to the millisecond. */
export const isoOf = (sql: postgres.Sql, time: postgres.PendingQuery<postgres.Row[]>) =>
  sql`to_char(${time} at time zone 'UTC', ${isoTime})`;
