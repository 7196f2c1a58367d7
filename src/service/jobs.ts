/**
 * What a service process does again and again. Each pause, and why it is that long, stands with its job.
 *
 * @module
 */

import type { Observe } from "../observe/observation.ts";
import type { Sampler } from "../observe/sampler.ts";
import type { Filing } from "../store/jobs/filing.ts";
import type { Retention } from "../store/jobs/retention.ts";
import type { Rollup } from "../store/jobs/rollup.ts";
import type { SpamLearning } from "../store/jobs/spam_learning.ts";
import type { StandingReader } from "../store/jobs/standing.ts";
import type { Upkeep } from "../store/jobs/upkeep.ts";
import type { Heartbeat } from "../store/serving/heartbeat.ts";
import type { PlanSnapshot } from "../store/serving/plans.ts";
import type { ReferenceReader } from "../store/serving/reference.ts";
import type { Totals } from "../store/serving/totals.ts";
import { type Job, repeat, type Repeating } from "./repeat.ts";

/** The jobs, by name. */
export interface JobsByName {
  /** Finds out whether the store takes writes, twice a second. */
  readonly heartbeat: Heartbeat;
  /** Reads the plans, every second; `null` where they are not served. */
  readonly plans: PlanSnapshot | null;
  /** Reads the vocabulary and the raised limits, every second. */
  readonly reference: ReferenceReader;
  /** Writes the counts of refusals and repeats, every five seconds. */
  readonly totals: Totals;
  /** Writes what the console plots, every minute. */
  readonly sampler: Sampler;
  /** Folds the insert-only counts and clears away, every five seconds. */
  readonly upkeep: Upkeep;
  /** Reads how database and delivery stand, every fifteen seconds. */
  readonly standing: StandingReader;
  /** Sums up the hours for the report, every minute. */
  readonly rollup: Rollup;
  /** Files whom leads name for the operator's search, every second. */
  readonly filing: Filing;
  /** Removes content that a tenant keeps no longer, every minute. */
  readonly retention: Retention;
  /** Learns from what the operators say of submissions, every five seconds; `null` where nothing is scored, or by choice. */
  readonly learning: SpamLearning<unknown> | null;
}

/** What the log calls the failure of a run. The first three tell of the store's in other ways, and know no other. */
const failureEvents: Readonly<Record<keyof JobsByName, string>> = {
  heartbeat: "heartbeat_failed",
  reference: "reference_failed",
  plans: "plans_failed",
  totals: "totals_kept",
  upkeep: "upkeep_failed",
  standing: "standing_unknown",
  sampler: "sample_kept",
  rollup: "rollup_failed",
  filing: "filing_failed",
  retention: "retention_failed",
  learning: "spam_learning_failed",
};

// For what is under way when the process stops. Longer than the statements that write what has been counted may take
// (3 s). What takes longer is given up: each run is a transaction, and whoever comes next does it.
const stopGraceMs = 1_000;
const finishGraceMs = 3_500;

/** The jobs that run. */
export interface Jobs {
  readonly heartbeat: Repeating;
  /** `null` where the plans are not served. */
  readonly plans: Repeating | null;
  /** Begins no further run. */
  stop(): void;
  /** Waits for the runs under way, as long as is reasonable, and writes what has been counted. */
  finish(): Promise<void>;
}

/** Repeats them all; each begins with its pause. */
export function startJobs(jobs: JobsByName, observe: Observe): Jobs {
  const start = <T>(name: keyof JobsByName, job: Job<T>) => {
    const event = failureEvents[name];
    return repeat(job, { onFailure: (error) => observe({ kind: "job_failed", event, error }) });
  };
  const heartbeat = start("heartbeat", jobs.heartbeat);
  const plans = jobs.plans === null ? null : start("plans", jobs.plans);
  const all = [
    heartbeat,
    ...plans === null ? [] : [plans],
    start("reference", jobs.reference),
    start("totals", jobs.totals),
    start("sampler", jobs.sampler),
    start("upkeep", jobs.upkeep),
    start("standing", jobs.standing),
    start("rollup", jobs.rollup),
    start("filing", jobs.filing),
    start("retention", jobs.retention),
    ...jobs.learning === null ? [] : [start("learning", jobs.learning)],
  ];
  let stopped: Promise<unknown> | null = null;
  return {
    heartbeat,
    plans,
    stop() {
      stopped ??= Promise.all(all.map((job) => job.stop()));
    },
    async finish() {
      this.stop();
      await within(stopGraceMs, stopped);
      await within(finishGraceMs, Promise.all(all.map((job) => job.finish())));
    },
  };
}

/** Waits for at most `ms` milliseconds. */
async function within(ms: number, work: Promise<unknown> | null): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise((resolve) => timer = setTimeout(resolve, ms))]);
  clearTimeout(timer);
}
