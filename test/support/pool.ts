/**
 * A pool for tests that need one and do not care about its bounds.
 *
 * @module
 */

import { Pool, type PoolOptions } from "../../src/store/pool.ts";

/** One connection to the database, and 30 s for a statement, unless `options` say otherwise. */
export function openPool(databaseUrl: string, options: Partial<PoolOptions> = {}): Pool {
  return new Pool({ databaseUrl, name: "test", connectionsMax: 1, statementTimeoutMs: 30_000, ...options });
}
