import type { Pool } from "../pool.ts";

/** State of the circuit breaker; `none` where nothing is delivered. */
export type SampledBreaker = "none" | "closed" | "half_open" | "open";

/** What the console plots: a process's counts of a minute, and figures at its end. */
export interface Sample {
  /** Leads and submissions. */
  readonly accepted: number;
  readonly refused: number;
  readonly delivered: number;
  /** Failed delivery attempts. */
  readonly failed: number;
  /** Events that became dead letters. */
  readonly died: number;
  readonly refusals: Readonly<Record<string, number>>;
  readonly pending: number;
  readonly dead: number;
  /** In seconds; 0 when nothing waits. */
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

/** Adds a process's sample. */
export async function writeSample(pool: Pool, node: string, sample: Sample): Promise<void> {
  await pool.run(writeDeadlineMs, (sql) =>
    sql`select add_minute_sample(
      ${node}, ${sample.accepted}, ${sample.refused}, ${sample.delivered}, ${sample.failed}, ${sample.died},
      ${
      JSON.stringify(sample.refusals)
    }::text::json, ${sample.pending}, ${sample.dead}, ${sample.oldestPendingS}, ${sample.breaker})`);
}

// From best to worst.
const breakers: readonly SampledBreaker[] = ["none", "closed", "half_open", "open"];

/** The samples of all processes, aggregated by step: sums of counts, the worst of figures; `null` without samples. */
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
        -- Once for all steps: the planner would look through all samples for each of them.
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
  const found = Array.from<Sample | null>({ length: steps }).fill(null);
  for (const { step, breaker, ...figures } of rows) {
    found[step] = { ...figures, breaker: breakers[breaker - 1] ?? "none" };
  }
  return found;
}
