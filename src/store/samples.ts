/**
 * A sample a minute of each process: what it did, and how things stood. The console plots them.
 *
 * @module
 */

import type { Pool } from "./sql.ts";

/** How the breaker stands; `none` where nothing is delivered. */
export type SampledBreaker = "none" | "closed" | "half_open" | "open";

/** What is plotted: counts of a minute, and figures at its end. */
export interface Sample {
  /** Leads and submissions. */
  readonly accepted: number;
  readonly refused: number;
  readonly delivered: number;
  /** Attempts to deliver that failed. */
  readonly failed: number;
  readonly pending: number;
  readonly dead: number;
  /** The age of what waits longest, in seconds; 0 when nothing waits. */
  readonly oldestPendingS: number;
  readonly breaker: SampledBreaker;
}

/** A minute of all processes together: their counts added up, the worst of their figures. */
export interface MinuteSample extends Sample {
  /** The minute's beginning, ISO 8601, UTC. */
  readonly at: string;
}

const deadlineMs = 5_000;

/** Adds a process's sample. Throws what {@linkcode Pool.run} throws. */
export async function writeSample(pool: Pool, node: string, sample: Sample): Promise<void> {
  await pool.run(deadlineMs, (sql) =>
    sql`select add_minute_sample(
      ${node}, ${sample.accepted}, ${sample.refused}, ${sample.delivered}, ${sample.failed}, ${sample.pending},
      ${sample.dead}, ${sample.oldestPendingS}, ${sample.breaker})`);
}

// In the order in which they get worse.
const breakers: readonly SampledBreaker[] = ["none", "closed", "half_open", "open"];

/**
 * The samples of the last minutes, the oldest first. A minute in which no process lived has none.
 *
 * @throws {Unavailable} when the store is away
 */
export async function readSamples(
  pool: Pool,
  { sinceMinutes }: { readonly sinceMinutes: number },
): Promise<MinuteSample[]> {
  const rows = await pool.run(deadlineMs, (sql) =>
    sql<{
      at: string;
      accepted: number;
      refused: number;
      delivered: number;
      failed: number;
      pending: number;
      dead: number;
      oldest_pending_s: number;
      breaker: number;
    }[]>`
      select
        to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at,
        sum(accepted)::int as accepted, sum(refused)::int as refused, sum(delivered)::int as delivered,
        sum(failed)::int as failed, max(pending)::int as pending, max(dead)::int as dead,
        max(oldest_pending_s) as oldest_pending_s,
        max(array_position(${[...breakers]}::text[], breaker)) as breaker
      from minute_sample as s
      where s.at > service_clock() - make_interval(mins => ${sinceMinutes})
      group by s.at
      order by s.at`);
  return rows.map(({ oldest_pending_s: oldestPendingS, breaker, ...row }) => ({
    ...row,
    oldestPendingS,
    breaker: breakers[breaker - 1] ?? "none",
  }));
}
