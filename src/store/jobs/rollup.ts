/** Maintains the hourly totals, so that a report over months does not read millions of events. */

import type { Pool } from "../pool.ts";
import { queryOne } from "../query.ts";

// One hour per statement, because an hour with a million events takes seconds.
const hoursMax = 1;
// The pause while more hours are due, for example after an upgrade.
const busyPauseMs = 50;
const idlePauseMs = 60_000;

/** Rolls up past hours, in one process at a time. */
export class Rollup {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  pauseMs(hours: number | null): number {
    return hours === hoursMax ? busyPauseMs : idlePauseMs;
  }

  /** Rolls up at most `hoursMax` hours and returns their number; 0 if another process is rolling up. */
  async runOnce(): Promise<number> {
    const row = await queryOne(
      this.#pool,
      (sql) => sql<{ hours: number }[]>`select roll_up_hours(${hoursMax}) as hours`,
    );
    return row?.hours ?? 0;
  }
}
