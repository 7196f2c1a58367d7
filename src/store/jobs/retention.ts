/** Removes content that is older than its tenant keeps it, in small batches. */

import type { StoreObservation } from "../observation.ts";
import type { Pool } from "../pool.ts";

// Bounds one transaction and its locks: about 10 ms of work.
const batchEvents = 500;
// While there is more: at most a few thousand events a second, beside the intake.
const busyPauseMs = 250;
// Retention counts days, so a minute's delay does not matter.
const idlePauseMs = 60_000;
const deadlineMs = 30_000;

export interface RetentionBatch {
  readonly examined: number;
  readonly removed: number;
}

/**
 * The database lets one process at a time remove.
 *
 * Chosen: the first run comes after a pause, so that a process that keeps restarting can serve.
 */
export class Retention {
  readonly #pool: Pool;
  readonly #observe: (observation: StoreObservation) => void;
  /** Events removed since the last report. */
  #unreported = 0;

  constructor(pool: Pool, observe: (observation: StoreObservation) => void) {
    this.#pool = pool;
    this.#observe = observe;
  }

  pauseMs(batch: RetentionBatch | null): number {
    return batch !== null && batch.examined >= batchEvents ? busyPauseMs : idlePauseMs;
  }

  /** Removes a batch; `null` when another process is doing so. */
  async runOnce(): Promise<RetentionBatch | null> {
    const [row] = await this.#pool.run(
      deadlineMs,
      (sql) =>
        sql<{ examined: number | null; removed: number }[]>`
        select examined, removed from expire_content(${batchEvents})`,
    );
    const { examined = null, removed = 0 } = row ?? {};
    if (examined === null) return null;
    this.#unreported += removed;
    if (this.#unreported > 0 && examined < batchEvents) {
      this.#observe({ kind: "retention", events: this.#unreported });
      this.#unreported = 0;
    }
    return { examined, removed };
  }
}
