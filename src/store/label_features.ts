/** Reads what a label on a submission teaches the spam score. */

import type { Pool } from "./pool.ts";
import { queryOne } from "./query.ts";

/** Returns the hashes of the words in a stored submission that a label teaches, at most 256. */
export type LabelFeatures = (lead: string) => number[];

/** Reads the features of a stored submission; none if there is no such submission or its content was removed. */
export async function readLabelFeatures(
  pool: Pool,
  submissionId: string,
  labelFeatures: LabelFeatures,
): Promise<number[]> {
  const row = await queryOne(pool, (sql) =>
    sql<{ lead: string }[]>`
      select e.lead::text as lead from event as e
      where e.event_id = ${submissionId} and e.kind = 'form' and e.lead is not null`);
  return row === null ? [] : labelFeatures(row.lead);
}
