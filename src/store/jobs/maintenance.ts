/** Aggregates the insert-only counts, makes waiting events due, deletes expired rows, and reads counts for the metrics. */

import { acceptedMs } from "../../contract/event_id.ts";
import { limits } from "../../contract/limits.ts";
import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";

// Limits the rows that a sum must read to those inserted within a few seconds.
const intervalMs = 5_000;
const oldestLookedMax = 2_000;
const openCollisionsMax = 10_000;
// 20 µs each.
const wakingRowsMax = 20_000;
// About once an hour; the rows expire after hours or days.
const expiryEveryRuns = 720;

export class Maintenance {
  readonly #pool: Pool;
  #runs = 0;
  /** When the oldest waiting event (`oldest_waiting`) was accepted (ISO 8601), as last read; `null` if there was none. */
  oldestPendingAt: string | null = null;
  /** The number of unsettled collisions with another person's event, as last read; at most {@linkcode openCollisionsMax}. */
  openCollisions = 0;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  pauseMs(): number {
    return intervalMs;
  }

  async runOnce(): Promise<void> {
    const row = await queryOne(
      this.#pool,
      (sql) =>
        sql<{ event_id: string | null; open_collisions: number }[]>`
        select fold_counts(), trim_heartbeat(), forget_tombstones(),
          (select event_id from oldest_waiting(${oldestLookedMax})) as event_id,
          (
            select count(*)::int from (
              select from collision as c where c.other_person and c.settled_at is null limit ${openCollisionsMax}
            ) as c
          ) as open_collisions`,
    );
    this.openCollisions = row?.open_collisions ?? 0;
    const oldest = row?.event_id ?? null;
    this.oldestPendingAt = oldest === null ? null : new Date(acceptedMs(oldest)).toISOString();
    await query(this.#pool, (sql) => sql`select wake_waiting_events(${wakingRowsMax})`);
    if (this.#runs % expiryEveryRuns === 0) await this.#deleteExpiredCheckouts();
    this.#runs += 1;
  }

  async #deleteExpiredCheckouts(): Promise<void> {
    await query(
      this.#pool,
      (sql) => sql`select forget_checkouts(${limits.checkoutKeyHours}, ${limits.checkoutUnpaidDays})`,
    );
  }
}
