/** The service's counters and histograms. */

import { errors, formErrors } from "../contract/errors.ts";
import { failureCauses } from "../delivery/send.ts";
import { acceptedMs } from "../contract/event_id.ts";
import type { Access } from "../http/options.ts";
import { HttpMeters } from "./http_meters.ts";
import { definition } from "./metrics.ts";
import { Registry } from "./registry.ts";
import type { Settlement } from "../store/delivery/outbox.ts";
import type { Sample } from "../store/jobs/samples.ts";
import type { Observation } from "./observation.ts";

const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const batchBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const attemptBuckets = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
// From an immediate delivery to one at the last attempt.
const ageBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 21_600, 86_400, 259_200];

/** The intake's error codes by status. */
const intakeCodeByStatus: ReadonlyMap<number, string> = new Map(
  Object.entries(errors).map(([code, { status }]) => [status, code]),
);

/** The error codes by status, the intake's if it has one for the status, so that plots show one line per status. */
const codeByStatus: ReadonlyMap<number, string> = new Map(
  [...Object.entries(formErrors), ...Object.entries(errors)].map(([code, { status }]) => [status, code]),
);

const postKinds: ReadonlyMap<string, string> = new Map([
  ["/v1/intake", "lead"],
  ["/v1/forms/{tenant}/{form_key}", "form"],
]);

/** Counts the service's observations. */
export class Meters {
  readonly registry: Registry = new Registry();
  readonly #http = new HttpMeters(this.registry);
  readonly #accepted = this.registry.counter(definition("lead_accepted_total"));
  readonly #duplicates = this.registry.counter(definition("lead_duplicates_total"));
  readonly #refused = this.registry.counter(definition("lead_refused_total"));
  readonly #fields = this.registry.counter(definition("lead_refused_fields_total"));
  readonly #unlogged = this.registry.counter(definition("lead_posts_not_logged_total"));
  readonly #submissions = this.registry.counter(definition("lead_submissions_total"));
  readonly #commits = this.registry.histogram(definition("lead_commit_duration_seconds"), commitBuckets);
  readonly #batches = this.registry.histogram(definition("lead_commit_batch_entries"), batchBuckets);
  readonly #failedCommits = this.registry.counter(definition("lead_commit_failures_total"));
  readonly #warnings = this.registry.counter(definition("lead_commit_warnings_total"));
  readonly #failedJobs = this.registry.counter(definition("lead_job_failures_total"));
  readonly #attempts = this.registry.counter(definition("lead_delivery_attempts_total"));
  /** The number of successful deliveries of events that an operator sent again. */
  #repeats = 0;
  readonly #attemptDurations = this.registry.histogram(
    definition("lead_delivery_attempt_duration_seconds"),
    attemptBuckets,
  );
  readonly #tierFailures = this.registry.counter(definition("lead_tier_failures_total"));
  readonly #timesToDelivery = this.registry.histogram(
    definition("lead_time_to_delivery_seconds"),
    ageBuckets,
  );
  readonly #deadLetters = this.registry.counter(definition("lead_deaths_total"));

  /** When each job last succeeded, in seconds since 1970. */
  readonly #jobSuccesses = new Map<string, number>();

  readonly #wallMs: () => number;

  /** `wallMs` returns the wall-clock time, in milliseconds since 1970. */
  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
    this.registry.gauge(definition("lead_job_last_success_timestamp_seconds"), () => this.#jobSuccesses);
    // Sets counters to 0, so that their rates are known from the first observation on.
    for (const kind of postKinds.values()) {
      this.#accepted.add(0, { kind });
      this.#duplicates.add(0, { kind });
    }
    for (const verdict of ["clean", "honeypot", "spam"]) this.#submissions.add(0, { verdict });
    for (const outcome of ["delivered", "refused", "unreachable"]) this.#attempts.add(0, { outcome });
    for (const cause of failureCauses) this.#tierFailures.add(0, { cause });
    for (const reason of intakeCodeByStatus.values()) this.#refused.add(0, { kind: "lead", reason });
  }

  observe(observation: Observation): void {
    switch (observation.kind) {
      case "request":
        this.#countRefusal(observation);
        return this.#http.observe(observation);
      case "fault":
      case "certificate_in_use":
      case "certificate_refused":
        return this.#http.observe(observation);
      case "commit_warning":
        return this.#warnings.add(1);
      case "job_failed":
        return this.#failedJobs.add(1, { task: observation.event });
      case "job_succeeded":
        this.#jobSuccesses.set(observation.job, this.#wallMs() / 1_000);
        return;
      case "batch_committed":
        return this.#countCommit(observation);
      case "batch_failed":
        return this.#failedCommits.add(1);
      case "post_refused":
        return this.#fields.add(1, { reason: observation.reason });
      case "post_not_logged":
        return this.#unlogged.add(1);
      case "tier_failure":
        return this.#tierFailures.add(1, { cause: observation.failure.cause });
      case "settled":
        return this.#countSettlements(observation.settlements);
    }
  }

  #countRefusal({ route, status }: Access): void {
    const kind = postKinds.get(route);
    if (kind === undefined || status < 400) return;
    const reason = kind === "lead" ? intakeCodeByStatus.get(status) ?? String(status) : String(status);
    this.#refused.add(1, { kind, reason });
  }

  #countCommit({ entries, decisions, durationMs }: Extract<Observation, { kind: "batch_committed" }>): void {
    this.#commits.observe(durationMs / 1_000);
    this.#batches.observe(entries.length);
    for (const [index, { kind, submission }] of entries.entries()) {
      const outcome = decisions[index]?.kind;
      if (outcome === "accepted") {
        this.#accepted.add(1, { kind });
        if (submission !== null) this.#submissions.add(1, { verdict: submission.verdict });
      } else if (outcome === "duplicate") this.#duplicates.add(1, { kind });
    }
  }

  #countSettlements(settlements: readonly Settlement[]): void {
    const wallMs = this.#wallMs();
    for (const { kind, outcome, durationMs, eventId, isRepeat } of settlements) {
      if (kind === "released") continue;
      this.#attempts.add(1, { outcome });
      this.#attemptDurations.observe(durationMs / 1_000, { outcome });
      // The time to delivery excludes repeats, because their events may have been accepted months ago.
      if (isRepeat && outcome === "delivered") this.#repeats += 1;
      else if (kind === "delivered") {
        this.#timesToDelivery.observe(Math.max(0, wallMs - acceptedMs(eventId)) / 1_000);
      }
      if (kind === "dead") this.#deadLetters.add(1);
    }
  }

  /** Returns the counts since the start; the minute samples contain the differences between successive counts. */
  totals(): Pick<Sample, "accepted" | "refused" | "delivered" | "failed" | "died" | "refusals"> {
    const delivered = this.#attempts.total({ outcome: "delivered" });
    const refusals: Record<string, number> = {};
    for (const [reason, count] of this.#refused.totalsBy("reason")) {
      const code = codeByStatus.get(Number(reason)) ?? reason;
      refusals[code] = (refusals[code] ?? 0) + count;
    }
    return {
      accepted: this.#accepted.total(),
      refused: this.#refused.total(),
      delivered: delivered - this.#repeats,
      failed: this.#attempts.total() - delivered,
      died: this.#deadLetters.total(),
      refusals,
    };
  }
}
