/**
 * Routine maintenance: aggregates the insert-only counts, trims heartbeats, and reads the age of the oldest pending
 * event for the metrics.
 */

import { acceptedMs } from "../../contract/event_id.ts";
import { limits } from "../../contract/limits.ts";
import type { Pool } from "../pool.ts";

// Bounds the rows that a sum has to read: a few seconds' inserts.
const intervalMs = 5_000;
const deadlineMs = 30_000;
// No one needs a more exact number.
const openCollisionsMax = 10_000;
// About hourly, for what expires after days.
const forgetEveryRuns = 720;

export class Maintenance {
  readonly #pool: Pool;
  #runs = 0;
  /** When the oldest event in the outbox was accepted, ISO 8601; `null` when nothing waits. */
  oldestPendingAt: string | null = null;
  /** Unsettled collisions with another person's lead, counted up to a bound. */
  openCollisions = 0;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  pauseMs(): number {
    return intervalMs;
  }

  async runOnce(): Promise<void> {
    const [row] = await this.#pool.run(
      deadlineMs,
      (sql) =>
        sql<{ event_id: string | null; open_collisions: number }[]>`
        select fold_counts(), trim_heartbeat(), forget_tombstones(),
          (select event_id from outbox order by event_id limit 1) as event_id,
          (
            select count(*)::int from (
              select from collision as c where c.other_person and c.settled_at is null limit ${openCollisionsMax}
            ) as c
          ) as open_collisions`,
    );
    this.openCollisions = row?.open_collisions ?? 0;
    const oldest = row?.event_id ?? null;
    this.oldestPendingAt = oldest === null ? null : new Date(acceptedMs(oldest)).toISOString();
    if (this.#runs % forgetEveryRuns === 0) await this.#forget();
    this.#runs += 1;
  }

  async #forget(): Promise<void> {
    await this.#pool.run(
      deadlineMs,
      (sql) => sql`select forget_checkouts(${limits.checkoutKeyHours}, ${limits.checkoutUnpaidDays})`,
    );
  }
}
