/** A pool for tests that need one and do not care about its bounds. */

import { Pool, type PoolOptions } from "../../src/store/pool.ts";
import { Primary } from "../../src/store/primary.ts";
import { atEnd } from "./at_end.ts";

/** One connection to the database, and 30 s for a statement, unless `options` say otherwise; it ends with the tests of the file. */
export function openPool(databaseUrl: string, options: Partial<PoolOptions> = {}): Pool {
  const pool = new Pool({
    ...{ primary: new Primary(databaseUrl), name: "test", connectionsMax: 1, statementTimeoutMs: 30_000 },
    ...options,
  });
  atEnd(() => pool.close());
  return pool;
}
