/** Reads what a label on a submission teaches the spam score. */

import type { Pool } from "./pool.ts";
import { queryOne } from "./query.ts";

/** Returns the hashes of the words that a label teaches, at most 256, given the start of each value by field name. */
export type LabelFeatures = (fields: Readonly<Record<string, string>>) => number[];

/** The numbers of values, and of characters at the start of each, that are read; more would only cost time. */
const [fieldsMax, valueLengthMax] = [200, 4_000];

/** Reads the features of a stored submission; none if there is no such submission or its content was removed. */
export async function readLabelFeatures(
  pool: Pool,
  submissionId: string,
  labelFeatures: LabelFeatures,
): Promise<number[]> {
  const row = await queryOne(pool, (sql) =>
    sql<{ fields: Record<string, string> }[]>`
      select json_object_agg(v.key, left(v.value, ${valueLengthMax})) as fields
      from event as e
      cross join lateral (
        select v.* from json_each_text(e.lead) as v where v.value is not null limit ${fieldsMax}
      ) as v
      where e.event_id = ${submissionId} and e.kind = 'form'
      group by e.event_id`);
  return row === null ? [] : labelFeatures(row.fields);
}
