/**
 * The end of what a tenant keeps for some days only: content that is older is removed, a little at a time.
 *
 * @module
 */

import type { StoreObservation } from "../observation.ts";
import type { Pool } from "../pool.ts";

// Bounds one transaction: some 10 ms of work, and the locks that it holds that long.
const batchEvents = 500;
// While there is more: a few thousand events a second at most, beside the intake.
const busyPauseMs = 250;
// Otherwise: days are not counted in minutes.
const idlePauseMs = 60_000;
const deadlineMs = 30_000;

/** What one batch did: events looked at, and those whose content it removed. */
export interface RetentionBatch {
  readonly examined: number;
  readonly removed: number;
}

/**
 * Every process removes; the database lets one work at a time.
 *
 * Chosen: it begins with the first pause and not with the start, so that a process which is restarted all the time
 * does little else than serve.
 */
export class Retention {
  readonly #pool: Pool;
  readonly #observe: (observation: StoreObservation) => void;
  /** Removed since that was told last. */
  #untold = 0;

  constructor(pool: Pool, observe: (observation: StoreObservation) => void) {
    this.#pool = pool;
    this.#observe = observe;
  }

  /** Until the next batch. */
  pauseMs(batch: RetentionBatch | null): number {
    return batch !== null && batch.examined >= batchEvents ? busyPauseMs : idlePauseMs;
  }

  /** Removes a batch; `null` when another process is at it. Throws what {@linkcode Pool.run} throws. */
  async runOnce(): Promise<RetentionBatch | null> {
    const [row] = await this.#pool.run(
      deadlineMs,
      (sql) =>
        sql<{ examined: number | null; removed: number }[]>`
        select examined, removed from expire_content(${batchEvents})`,
    );
    const { examined = null, removed = 0 } = row ?? {};
    if (examined === null) return null;
    this.#untold += removed;
    if (this.#untold > 0 && examined < batchEvents) {
      this.#observe({ kind: "retention", events: this.#untold });
      this.#untold = 0;
    }
    return { examined, removed };
  }
}
