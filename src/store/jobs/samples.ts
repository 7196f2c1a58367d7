import type { Pool } from "../pool.ts";

/** The circuit breaker's state; `none` in a process without delivery. */
export type SampledBreaker = "none" | "closed" | "half_open" | "open";

/** A process's counts for one minute and its values at the minute's end, for the console's plots. */
export interface Sample {
  /** The number of accepted leads and submissions. */
  readonly accepted: number;
  readonly refused: number;
  readonly delivered: number;
  /** The number of failed delivery attempts. */
  readonly failed: number;
  /** The number of events that became dead letters. */
  readonly died: number;
  readonly refusals: Readonly<Record<string, number>>;
  readonly pending: number;
  readonly dead: number;
  /** The age of the oldest pending event in seconds; 0 if there is none. */
  readonly oldestPendingS: number;
  readonly breaker: SampledBreaker;
}

export interface StepSpan {
  /** Milliseconds since 1970; a multiple of `stepMs`. */
  readonly fromMs: number;
  /** A whole number of minutes. */
  readonly stepMs: number;
  readonly steps: number;
}

// A stopping process waits for its last sample.
const writeDeadlineMs = 3_000;
const readDeadlineMs = 5_000;

export async function writeSample(pool: Pool, node: string, sample: Sample): Promise<void> {
  await pool.run(writeDeadlineMs, (sql) =>
    sql`select add_minute_sample(
      ${node}, ${sample.accepted}, ${sample.refused}, ${sample.delivered}, ${sample.failed}, ${sample.died},
      ${
      JSON.stringify(sample.refusals)
    }::text::json, ${sample.pending}, ${sample.dead}, ${sample.oldestPendingS}, ${sample.breaker})`);
}

// The states from best to worst.
const breakers: readonly SampledBreaker[] = ["none", "closed", "half_open", "open"];

/**
 * Reads all processes' samples and combines those of each step: sums of the counts, and the worst of the other values;
 * `null` for a step without samples.
 */
export async function readSteps(pool: Pool, { fromMs, stepMs, steps }: StepSpan): Promise<(Sample | null)[]> {
  const rows = await pool.run(
    readDeadlineMs,
    (sql) =>
      sql<(Omit<Sample, "breaker"> & { step: number; breaker: number })[]>`
      with chosen as (
        select s.*, floor((extract(epoch from s.at) * 1000 - ${fromMs}) / ${stepMs})::int as step
        from minute_sample as s
        where s.at >= to_timestamp(${fromMs}::float8 / 1000)
          and s.at < to_timestamp(${fromMs + steps * stepMs}::float8 / 1000)
      ), refused as materialized (
        -- Computed once for all steps; the planner would otherwise scan all samples for each step.
        select r.step, json_object_agg(r.code, r.count) as counts
        from (
          select c.step, e.key as code, sum(e.value::float8) as count
          from chosen as c cross join lateral json_each_text(c.refusals) as e
          group by 1, 2
        ) as r
        group by 1
      )
      select
        s.step, sum(s.accepted)::float8 as accepted, sum(s.refused)::float8 as refused,
        sum(s.delivered)::float8 as delivered, sum(s.failed)::float8 as failed, sum(s.died)::float8 as died,
        coalesce((select r.counts from refused as r where r.step = s.step), '{}') as refusals,
        max(s.pending)::float8 as pending,
        max(s.dead)::float8 as dead, max(s.oldest_pending_s)::float8 as "oldestPendingS",
        max(array_position(${[...breakers]}::text[], s.breaker)) as breaker
      from chosen as s
      group by 1`,
  );
  const samples = Array.from<Sample | null>({ length: steps }).fill(null);
  for (const { step, breaker, ...figures } of rows) {
    samples[step] = { ...figures, breaker: breakers[breaker - 1] ?? "none" };
  }
  return samples;
}
