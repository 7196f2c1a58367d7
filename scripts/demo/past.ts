/**
 * Runs the store's functions at past times, in one transaction with its own clock. Other sessions never read that
 * clock, and an aborted run changes nothing.
 */

import { readFileSync } from "node:fs";
import { openAdminPool } from "../../src/store/operator/admin_pool.ts";
import type { Pool } from "../../src/store/pool.ts";

export interface PastDatabase {
  readonly pool: Pool;
  /** Sets the clock for everything that follows. */
  at(timeMs: number): Promise<void>;
}

const deadlineMs = 60_000;
const realClock = new URL("../../sql/functions/service_clock.sql", import.meta.url);

/**
 * Runs `work`, and commits all of its changes or none.
 *
 * @throws {Error} if `work` throws or the connection was lost; nothing is committed
 */
export async function inThePast(
  databaseUrl: string,
  work: (past: PastDatabase) => Promise<void>,
): Promise<void> {
  const pool = openAdminPool(databaseUrl, { claimed: "npm run demo" });
  const run = (text: string) => pool.run(deadlineMs, (sql) => sql.unsafe(text));
  // After a lost connection, the pool would continue on another one, outside the transaction.
  const session = async () => (await run("select pg_backend_pid() as pid, txid_current() as id"))[0];
  try {
    await run("begin");
    const before = JSON.stringify(await session());
    await run(
      `create or replace function service_clock() returns timestamptz language sql volatile parallel safe
      as $$ select coalesce(nullif(current_setting('lead_intake.demo_clock', true), '')::timestamptz, clock_timestamp()) $$`,
    );
    await work({
      pool,
      at: async (timeMs) => {
        await pool.run(
          deadlineMs,
          (sql) => sql`select set_config('lead_intake.demo_clock', ${new Date(timeMs).toISOString()}, true)`,
        );
      },
    });
    await run(readFileSync(realClock, "utf8"));
    if (JSON.stringify(await session()) !== before) {
      throw new Error("The connection to the database was lost");
    }
    await run("commit");
  } finally {
    await pool.close();
  }
}
