import { Pool, type PoolOptions } from "../../src/store/pool.ts";
import { Primary } from "../../src/store/primary.ts";
import { atEnd } from "./at_end.ts";

/** Opens a pool that ends with the tests of the file. Default: one connection and 30 s per statement. */
export function openPool(databaseUrl: string, options: Partial<PoolOptions> = {}): Pool {
  const pool = new Pool({
    primary: new Primary(databaseUrl),
    name: "test",
    connectionsMax: 1,
    statementTimeoutMs: 30_000,
    ...options,
  });
  atEnd(() => pool.close());
  return pool;
}
