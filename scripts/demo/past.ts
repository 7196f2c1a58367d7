/**
 * Lets the functions of the store work at times in the past: one transaction in which the database's clock is ours.
 * Nobody else sees that clock, and when it does not come to its end nothing has happened.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { openAdminPool } from "../../src/store/operator/admin_pool.ts";
import type { Pool } from "../../src/store/pool.ts";

/** The store, at a time of our choice. */
export interface Past {
  readonly pool: Pool;
  /** Everything from here on happens then. */
  at(timeMs: number): Promise<void>;
}

const deadlineMs = 60_000;
const realClock = new URL("../../sql/functions/service_clock.sql", import.meta.url);

/**
 * Runs `work` and commits what it has done, all or nothing.
 *
 * @throws {Error} what `work` throws, or when the connection was lost: then nothing was committed
 */
export async function inThePast(databaseUrl: string, work: (past: Past) => Promise<void>): Promise<void> {
  const pool = openAdminPool(databaseUrl, "npm run demo");
  const run = (text: string) => pool.run(deadlineMs, (sql) => sql.unsafe(text));
  // The pool gives a lost connection up for another one, which would be outside the transaction.
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
