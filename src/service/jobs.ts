/** The background jobs of a service process. Each job defines its own pause. */

import type { Observe } from "../observe/observation.ts";
import type { Sampler } from "../observe/sampler.ts";
import type { Retention } from "../store/jobs/retention.ts";
import type { Rollup } from "../store/jobs/rollup.ts";
import type { SearchIndexer } from "../store/jobs/search_indexer.ts";
import type { SpamLearning } from "../store/jobs/spam_learning.ts";
import type { StatusReader } from "../store/jobs/status.ts";
import type { Maintenance } from "../store/jobs/maintenance.ts";
import type { Heartbeat } from "../store/serving/heartbeat.ts";
import type { PlanSnapshot } from "../store/serving/plans.ts";
import type { ReferenceReader } from "../store/serving/reference.ts";
import type { Totals } from "../store/serving/totals.ts";
import { waitAtMost } from "../store/wait.ts";
import { type Job, repeat, type Repeating } from "./repeat.ts";

export interface JobsByName {
  /** Checks twice a second whether the store accepts writes. */
  readonly heartbeat: Heartbeat;
  /** Reads the plans every second; `null` if they are not served. */
  readonly plans: PlanSnapshot | null;
  /** Reads the vocabulary and the raised limits every second. */
  readonly reference: ReferenceReader;
  /** Writes the counts of refusals and duplicates every five seconds. */
  readonly totals: Totals;
  /** Writes a sample of the metrics for the console's graphs every minute. */
  readonly sampler: Sampler;
  /** Adds up the insert-only counts every five seconds, and deletes expired rows. */
  readonly maintenance: Maintenance;
  /** Reads the status of the database and of event delivery every fifteen seconds. */
  readonly status: StatusReader;
  /** Computes the report's hourly sums every minute. */
  readonly rollup: Rollup;
  /** Indexes posts for the operator's search every second. */
  readonly searchIndexer: SearchIndexer;
  /** Every minute, removes the content that is older than its tenant's retention period. */
  readonly retention: Retention;
  /** Learns from labels every five seconds; `null` if nothing is scored. */
  readonly learning: SpamLearning | null;
}

/** The log event for each job's failed runs. */
const failureEvents: Readonly<Record<keyof JobsByName, string>> = {
  heartbeat: "heartbeat_failed",
  reference: "reference_failed",
  plans: "plans_failed",
  totals: "totals_kept",
  maintenance: "maintenance_failed",
  status: "status_unknown",
  sampler: "sample_kept",
  rollup: "rollup_failed",
  searchIndexer: "search_indexing_failed",
  retention: "retention_failed",
  learning: "spam_learning_failed",
};

/** The names of all jobs. */
export const jobNames = Object.keys(failureEvents);

// How long a shutdown waits for runs in flight, and then for the counts to be written, which may take 3 s. A run is a
// transaction, so another process repeats an abandoned run.
const stopGraceMs = 1_000;
const finishGraceMs = 3_500;

export interface Jobs {
  readonly heartbeat: Repeating;
  /** The job that reads the plans; `null` if they are not served. */
  readonly plans: Repeating | null;
  /** Stops all jobs. */
  stop(): void;
  /** Stops all jobs, waits for the runs in flight, and writes the counts, each within a grace period. */
  finish(): Promise<void>;
}

/** Starts all jobs; each begins with a pause. */
export function startJobs(jobs: JobsByName, observe: Observe): Jobs {
  const start = <T>(name: keyof JobsByName, job: Job<T>) => {
    const event = failureEvents[name];
    return repeat(job, {
      onFailure: (error) => observe({ kind: "job_failed", event, error }),
      onSuccess: () => observe({ kind: "job_succeeded", job: name }),
    });
  };
  const heartbeat = start("heartbeat", jobs.heartbeat);
  const plans = jobs.plans === null ? null : start("plans", jobs.plans);
  const all = [
    heartbeat,
    ...plans === null ? [] : [plans],
    start("reference", jobs.reference),
    start("totals", jobs.totals),
    start("sampler", jobs.sampler),
    start("maintenance", jobs.maintenance),
    start("status", jobs.status),
    start("rollup", jobs.rollup),
    start("searchIndexer", jobs.searchIndexer),
    start("retention", jobs.retention),
    ...jobs.learning === null ? [] : [start("learning", jobs.learning)],
  ];
  let stopped: Promise<unknown> | undefined;
  const stop = () => stopped ??= Promise.all(all.map((job) => job.stop()));
  return {
    heartbeat,
    plans,
    stop: () => void stop(),
    async finish() {
      await waitAtMost(stopGraceMs, stop());
      await waitAtMost(finishGraceMs, Promise.all(all.map((job) => job.finish())));
    },
  };
}
