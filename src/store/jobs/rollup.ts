/** Maintains the hourly totals, so that a report of months does not read millions of events. */

import type { Pool } from "../pool.ts";

// Bounds one transaction.
const hoursMax = 12;
// While there is more, as after an upgrade.
const busyPauseMs = 250;
const idlePauseMs = 60_000;
const deadlineMs = 60_000;

/** The database lets one process at a time roll up. */
export class Rollup {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  pauseMs(hours: number | null): number {
    return hours === hoursMax ? busyPauseMs : idlePauseMs;
  }

  /** Rolls up a few hours and returns how many. */
  async runOnce(): Promise<number> {
    const [row] = await this.#pool.run(
      deadlineMs,
      (sql) => sql<{ hours: number }[]>`select roll_up_hours(${hoursMax}) as hours`,
    );
    return row?.hours ?? 0;
  }
}
