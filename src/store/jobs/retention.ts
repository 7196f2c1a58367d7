/** Removes content older than its tenant's retention, and old rows of the post log, in small batches. */

import type { StoreObservation } from "../observation.ts";
import type { Pool } from "../pool.ts";
import { queryOne } from "../query.ts";

// Bounds one transaction and its locks: about 100 ms of work.
const batchMax = 500;
// The pause while more events are due. It limits the removal to 2,000 events per second.
const busyPauseMs = 250;
// Retention is counted in days, so a minute's delay does not matter.
const idlePauseMs = 60_000;

export interface RetentionBatch {
  readonly examined: number;
  readonly removed: number;
  /** The number of deleted rows of the post log. */
  readonly posts: number;
}

/**
 * Removes expired content, in one process at a time.
 *
 * Chosen: a pause before the first run, so that a process that restarts repeatedly can still serve.
 */
export class Retention {
  readonly #pool: Pool;
  readonly #observe: (observation: StoreObservation) => void;
  /** The number of events whose content was removed since the last report. */
  #unreported = 0;

  constructor(pool: Pool, observe: (observation: StoreObservation) => void) {
    this.#pool = pool;
    this.#observe = observe;
  }

  pauseMs(batch: RetentionBatch | null): number {
    return batch !== null && Math.max(batch.examined, batch.posts) >= batchMax ? busyPauseMs : idlePauseMs;
  }

  /** Removes the content of a batch of events; returns `null` if another process is removing content. */
  async runOnce(): Promise<RetentionBatch | null> {
    const row = await queryOne(
      this.#pool,
      (sql) =>
        sql<{ examined: number | null; removed: number }[]>`
        select examined, removed from expire_content(${batchMax})`,
    );
    const { examined = null, removed = 0 } = row ?? {};
    if (examined === null) return null;
    this.#unreported += removed;
    if (this.#unreported > 0 && examined < batchMax) {
      this.#observe({ kind: "retention", events: this.#unreported });
      this.#unreported = 0;
    }
    // A statement of its own, so that neither undoes the other.
    const expired = await queryOne(
      this.#pool,
      (sql) => sql<{ posts: number }[]>`select expire_posts(${batchMax}) as posts`,
    );
    return { examined, removed, posts: expired?.posts ?? 0 };
  }
}
