/** Indexes the contacts of leads for the operator's search after their commit, which need not wait for it. */

import type { Pool } from "../pool.ts";

// Bounds one transaction: about 8,000 leads under full load, a tenth of a second.
const batchesMax = 256;
// Bounds the unindexed leads that a search must scan.
const idlePauseMs = 1_000;
const deadlineMs = 30_000;

/** The database lets one process at a time index. */
export class ContactIndexer {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  pauseMs(batches: number | null): number {
    return batches === batchesMax ? 0 : idlePauseMs;
  }

  /** Indexes the leads of a few batches and returns the number of batches. */
  async runOnce(): Promise<number> {
    const [row] = await this.#pool.run(
      deadlineMs,
      (sql) => sql<{ batches: number | null }[]>`select fill_lead_contact(${batchesMax}) as batches`,
    );
    return row?.batches ?? 0;
  }
}
