/**
 * Keeps the hours' totals, from which the report is made, so that a report of months does not read millions of events.
 *
 * @module
 */

import type { Pool } from "../pool.ts";

// Bounds one transaction.
const hoursMax = 12;
// While there is more, as after an upgrade: beside everything else that the database does.
const busyPauseMs = 250;
const idlePauseMs = 60_000;
const deadlineMs = 60_000;

/** Every process rolls up; the database lets one work at a time. */
export class Rollup {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Until the next run, after one that rolled up so many hours. */
  pauseMs(hours: number | null): number {
    return hours === hoursMax ? busyPauseMs : idlePauseMs;
  }

  /** Rolls up a few hours and returns how many. Throws what {@linkcode Pool.run} throws. */
  async runOnce(): Promise<number> {
    const [row] = await this.#pool.run(
      deadlineMs,
      (sql) => sql<{ hours: number }[]>`select roll_up_hours(${hoursMax}) as hours`,
    );
    return row?.hours ?? 0;
  }
}
