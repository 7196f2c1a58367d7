/**
 * Files whom leads name for the operator's search, behind their commit, which so does not wait for it.
 *
 * @module
 */

import type { Pool } from "../pool.ts";

// Bounds one transaction: at saturation some 8,000 leads, a tenth of a second.
const batchesMax = 256;
// Bounds what a search has to look through.
const idlePauseMs = 1_000;
const deadlineMs = 30_000;

/** The first process of each machine files; the database lets one work at a time. */
export class Filing {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Until the next run, after one that took so many batches. */
  pauseMs(batches: number | null): number {
    return batches === batchesMax ? 0 : idlePauseMs;
  }

  /** Files the leads of a few batches and returns of how many. Throws what {@linkcode Pool.run} throws. */
  async runOnce(): Promise<number> {
    const [row] = await this.#pool.run(
      deadlineMs,
      (sql) => sql<{ batches: number | null }[]>`select fill_lead_contact(${batchesMax}) as batches`,
    );
    return row?.batches ?? 0;
  }
}
