/** Runs statements of operators, the console and background jobs. */

import type postgres from "postgres";
import type { Pool } from "./pool.ts";

/**
 * The server's timeout for these statements. Chosen: longer than a commit's 10 s, because a revocation waits for its
 * key's commits; shorter than a request's 20 s.
 */
export const queryTimeoutMs = 15_000;

// Later than the server's timeout, even after a wait for a connection, so that a slow statement fails alone: a missed
// deadline closes the pool's connections.
const deadlineMs = 18_000;

/** Runs a statement. Throws what {@linkcode Pool.run} throws. */
export function query<T>(pool: Pool, statement: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
  return pool.run(deadlineMs, statement);
}

/** Runs a statement and returns its first row, or `null`. */
export async function queryOne<Row>(
  pool: Pool,
  statement: (sql: postgres.Sql) => PromiseLike<readonly Row[]>,
): Promise<Row | null> {
  const [row] = await query(pool, statement);
  return row ?? null;
}
