/**
 * What a service process does again and again. Each pause, and why it is that long, stands with its job.
 *
 * @module
 */

import type { Observe } from "../observe/observation.ts";
import type { Sampler } from "../observe/sampler.ts";
import type { Retention } from "../store/jobs/retention.ts";
import type { Rollup } from "../store/jobs/rollup.ts";
import type { Upkeep } from "../store/jobs/upkeep.ts";
import type { Heartbeat } from "../store/serving/heartbeat.ts";
import type { PlanSnapshot } from "../store/serving/plan_snapshot.ts";
import type { ReferenceReader } from "../store/serving/reference.ts";
import type { Totals } from "../store/serving/totals.ts";
import { type Job, repeat, type Repeating } from "./repeat.ts";

/** The jobs, by name. */
export interface JobParts {
  /** Finds out whether the store takes writes, twice a second. */
  readonly heartbeat: Heartbeat;
  /** Reads the vocabulary and the raised limits, every second. */
  readonly reference: ReferenceReader;
  /** Reads the plans, every second. */
  readonly plans: PlanSnapshot;
  /** Writes the counts of refusals and repeats, every five seconds. */
  readonly totals: Totals;
  /** Folds the insert-only counts and clears away, every five seconds. */
  readonly upkeep: Upkeep;
  /** Writes what the console plots, every minute. */
  readonly sampler: Sampler;
  /** Sums up the hours for the report, every minute. */
  readonly rollup: Rollup;
  /** Removes content that a tenant keeps no longer, every minute. */
  readonly retention: Retention;
}

/** What the log calls the failure of a job; the others tell of theirs themselves. */
const failureEvents: Readonly<Partial<Record<keyof JobParts, string>>> = {
  totals: "totals_kept",
  sampler: "sample_kept",
};

/** The jobs that run. */
export interface Jobs {
  readonly heartbeat: Repeating;
  readonly plans: Repeating;
  /** Begins no further run, lets those under way end for at most `graceMs`, and writes what has been counted. */
  close(graceMs: number): Promise<void>;
}

/** Repeats them all; each begins with its pause. */
export function startJobs(parts: JobParts, observe: Observe): Jobs {
  const start = <T>(name: keyof JobParts, job: Job<T>) => {
    const event = failureEvents[name] ?? `${name}_failed`;
    return repeat(job, { onFailure: (error) => observe({ kind: "job_failed", event, error }) });
  };
  const heartbeat = start("heartbeat", parts.heartbeat);
  const plans = start("plans", parts.plans);
  const others = [
    start("reference", parts.reference),
    start("totals", parts.totals),
    start("upkeep", parts.upkeep),
    start("sampler", parts.sampler),
    start("rollup", parts.rollup),
    start("retention", parts.retention),
  ];
  return {
    heartbeat,
    plans,
    async close(graceMs) {
      const closed = Promise.all([heartbeat, plans, ...others].map((job) => job.close()));
      let timer: ReturnType<typeof setTimeout> | undefined;
      await Promise.race([closed, new Promise((resolve) => timer = setTimeout(resolve, graceMs))]);
      clearTimeout(timer);
    },
  };
}
