/** The background jobs of a service process. Each job defines its own pause. */

import type { Observe } from "../observe/observation.ts";
import type { Sampler } from "../observe/sampler.ts";
import type { ContactIndexer } from "../store/jobs/contact_indexer.ts";
import type { Retention } from "../store/jobs/retention.ts";
import type { Rollup } from "../store/jobs/rollup.ts";
import type { SpamLearning } from "../store/jobs/spam_learning.ts";
import type { StatusReader } from "../store/jobs/status.ts";
import type { Maintenance } from "../store/jobs/maintenance.ts";
import type { Heartbeat } from "../store/serving/heartbeat.ts";
import type { PlanSnapshot } from "../store/serving/plans.ts";
import type { ReferenceReader } from "../store/serving/reference.ts";
import type { Totals } from "../store/serving/totals.ts";
import { type Job, repeat, type Repeating } from "./repeat.ts";

/** The jobs, by name. */
export interface JobsByName {
  /** Checks that the store takes writes, twice a second. */
  readonly heartbeat: Heartbeat;
  /** Reads the plans every second; `null` if they are not served. */
  readonly plans: PlanSnapshot | null;
  /** Reads the vocabulary and the raised limits every second. */
  readonly reference: ReferenceReader;
  /** Writes the counts of refusals and duplicates every five seconds. */
  readonly totals: Totals;
  /** Writes the samples that the console plots every minute. */
  readonly sampler: Sampler;
  /** Folds the insert-only counts and deletes expired rows every five seconds. */
  readonly maintenance: Maintenance;
  /** Reads the status of database and delivery every fifteen seconds. */
  readonly status: StatusReader;
  /** Computes the report's hourly sums every minute. */
  readonly rollup: Rollup;
  /** Indexes contacts for the operator's search every second. */
  readonly contactIndexer: ContactIndexer;
  /** Removes content past its tenant's retention every minute. */
  readonly retention: Retention;
  /** Learns from the operators' labels every five seconds; `null` if nothing is scored or learning is off. */
  readonly learning: SpamLearning<unknown> | null;
}

/** The log event of a failed run. */
const failureEvents: Readonly<Record<keyof JobsByName, string>> = {
  heartbeat: "heartbeat_failed",
  reference: "reference_failed",
  plans: "plans_failed",
  totals: "totals_kept",
  maintenance: "maintenance_failed",
  status: "status_unknown",
  sampler: "sample_kept",
  rollup: "rollup_failed",
  contactIndexer: "contact_indexing_failed",
  retention: "retention_failed",
  learning: "spam_learning_failed",
};

// Grace for runs in flight at shutdown. `finishGraceMs` exceeds the 3 s that writing the counts may take. Each run is a
// transaction, so an abandoned one is repeated by another process.
const stopGraceMs = 1_000;
const finishGraceMs = 3_500;

/** The running jobs. */
export interface Jobs {
  readonly heartbeat: Repeating;
  /** `null` if the plans are not served. */
  readonly plans: Repeating | null;
  /** Starts no further run. */
  stop(): void;
  /** Waits for the runs in flight, up to the grace periods, and writes the counts. */
  finish(): Promise<void>;
}

/** Starts every job; each begins with its pause. */
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
    start("maintenance", jobs.maintenance),
    start("status", jobs.status),
    start("rollup", jobs.rollup),
    start("contactIndexer", jobs.contactIndexer),
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
