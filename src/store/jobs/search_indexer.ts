/** Indexes what identifies committed posts, for the operator's search. */

import type { Pool } from "../pool.ts";
import { queryOne } from "../query.ts";
import { Unavailable } from "../unavailable.ts";

// Bounds one transaction: under full load, about 8,000 leads and 0.2 s.
const batchesMax = 256;
// Bounds the number of batches that a search has to index first.
const idlePauseMs = 1_000;

/** Indexes leads, submissions and collisions, in one process at a time. */
export class SearchIndexer {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  pauseMs(batches: number | null): number {
    return batches === batchesMax ? 0 : idlePauseMs;
  }

  /** Indexes the posts of up to `batchesMax` commits and returns the number of commits; 0 if another process is indexing. */
  async runOnce(): Promise<number> {
    return await fill(this.#pool, false) ?? 0;
  }
}

async function fill(pool: Pool, waits: boolean): Promise<number | null> {
  const row = await queryOne(
    pool,
    (sql) => sql<{ batches: number | null }[]>`select fill_search_entry(${batchesMax}, ${waits}) as batches`,
  );
  return row?.batches ?? null;
}

// With more commits waiting, the index is behind, and a search does not wait for it.
const fillsMax = 4;

/** Indexes what was committed before the call, and returns whether that was all; `false` too if it takes too long. */
export async function indexNewest(pool: Pool): Promise<boolean> {
  try {
    for (let fills = 0; fills < fillsMax; fills += 1) {
      if ((await fill(pool, true) ?? 0) < batchesMax) return true;
    }
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
  return false;
}
