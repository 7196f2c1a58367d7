/**
 * What the site says of the database: the vocabulary in force.
 *
 * @module
 */

import type { Area } from "../serving/reference.ts";
import type { Pool } from "../pool.ts";

const deadlineMs = 20_000;

/** The terms that are not retired, in alphabetical order. Throws what {@linkcode Pool.run} throws. */
export async function readSiteAreas(pool: Pool): Promise<Area[]> {
  const rows = await pool.run(deadlineMs, (sql) =>
    sql<Area[]>`
    select area, status from area where status <> 'retired' order by area`);
  return rows.map(({ area, status }) => ({ area, status }));
}
