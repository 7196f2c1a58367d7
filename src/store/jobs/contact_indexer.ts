/** Indexes the contacts of committed leads for the operator's search. */

import type { Pool } from "../pool.ts";
import { queryOne } from "../query.ts";

// Bounds one transaction: under full load, about 8,000 leads and 0.1 s.
const batchesMax = 256;
// Bounds the number of unindexed leads that a search must scan.
const idlePauseMs = 1_000;

/** Indexes leads, in one process at a time. */
export class ContactIndexer {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  pauseMs(batches: number | null): number {
    return batches === batchesMax ? 0 : idlePauseMs;
  }

  /** Indexes the leads of up to `batchesMax` commits and returns the number of commits; 0 if another process is indexing. */
  async runOnce(): Promise<number> {
    const row = await queryOne(
      this.#pool,
      (sql) => sql<{ batches: number | null }[]>`select fill_lead_contact(${batchesMax}) as batches`,
    );
    return row?.batches ?? 0;
  }
}
