/**
 * The minute samples of all processes, folded into the steps of a plot by the database: a plot of a month would
 * otherwise fetch tens of thousands of rows.
 *
 * @module
 */

import { adminDeadlineMs } from "./admin/pool.ts";
import type { Pool } from "./sql.ts";

/** What all processes did in a step, and the worst of how things stood. */
export interface Step {
  readonly accepted: number;
  readonly refused: number;
  readonly delivered: number;
  /** Attempts to deliver that failed. */
  readonly failed: number;
  readonly pending: number;
  readonly dead: number;
  /** The age of what waited longest, in seconds. */
  readonly oldestPendingSeconds: number;
  /** `none`: no process has an actions tier. */
  readonly breaker: "none" | "closed" | "half_open" | "open";
}

/** The time that steps cover. */
export interface StepSpan {
  /** Milliseconds since 1970; a multiple of `stepMs`. */
  readonly fromMs: number;
  /** A whole number of minutes. */
  readonly stepMs: number;
  readonly steps: number;
}

// The worst counts: one process whose breaker is open is worth a look.
const breakers: readonly Step["breaker"][] = ["none", "closed", "half_open", "open"];

/** The steps in their order; `null` for one in which no process has left a sample. */
export async function readSteps(pool: Pool, { fromMs, stepMs, steps }: StepSpan): Promise<(Step | null)[]> {
  const rows = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<
        (Omit<Step, "oldestPendingSeconds" | "breaker"> & { step: number; oldest: number; breaker: number })[]
      >`
      select
        floor((extract(epoch from s.at) * 1000 - ${fromMs}) / ${stepMs})::int as step,
        sum(s.accepted)::float8 as accepted, sum(s.refused)::float8 as refused,
        sum(s.delivered)::float8 as delivered, sum(s.failed)::float8 as failed, max(s.pending)::float8 as pending,
        max(s.dead)::float8 as dead, max(s.oldest_pending_s)::float8 as oldest,
        max(array_position(${[...breakers]}::text[], s.breaker)) as breaker
      from minute_sample as s
      where s.at >= to_timestamp(${fromMs}::float8 / 1000)
        and s.at < to_timestamp(${fromMs + steps * stepMs}::float8 / 1000)
      group by 1`,
  );
  const found = Array.from<Step | null>({ length: steps }).fill(null);
  for (const { step, oldest, breaker, ...figures } of rows) {
    found[step] = { ...figures, oldestPendingSeconds: oldest, breaker: breakers[breaker - 1] ?? "none" };
  }
  return found;
}
