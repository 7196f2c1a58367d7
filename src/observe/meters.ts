/** The service's metrics and their sources. */

import { errors, formErrors } from "../contract/errors.ts";
import { failureCauses } from "../delivery/send.ts";
import { acceptedMs } from "../contract/event_id.ts";
import type { Access } from "../http/options.ts";
import { HttpMeters } from "./http_meters.ts";
import { described } from "./metrics.ts";
import { Registry } from "./registry.ts";
import type { Settlement } from "../store/delivery/outbox.ts";
import type { Sample } from "../store/jobs/samples.ts";
import type { Observation } from "./observation.ts";

const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const batchBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const attemptBuckets = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
// From immediate delivery to the last attempt.
const ageBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 21_600, 86_400, 259_200];

/** The intake's error code by status. */
const intakeReasons: ReadonlyMap<number, string> = new Map(
  Object.entries(errors).map(([code, { status }]) => [status, code]),
);

/** Error codes by status; the intake's win, so that plots have one line for both surfaces. */
const codes: ReadonlyMap<number, string> = new Map(
  [...Object.entries(formErrors), ...Object.entries(errors)].map(([code, { status }]) => [status, code]),
);

const posts: ReadonlyMap<string, string> = new Map([
  ["/v1/intake", "lead"],
  ["/v1/forms/{tenant}/{form_key}", "form"],
]);

/** Counts a process's observations. */
export class Meters {
  readonly registry: Registry = new Registry();
  readonly #http = new HttpMeters(this.registry);
  readonly #accepted = this.registry.counter(described("lead_accepted_total"));
  readonly #duplicates = this.registry.counter(described("lead_duplicates_total"));
  readonly #refused = this.registry.counter(described("lead_refused_total"));
  readonly #fields = this.registry.counter(described("lead_refused_fields_total"));
  readonly #submissions = this.registry.counter(described("lead_submissions_total"));
  readonly #commits = this.registry.histogram(described("lead_commit_duration_seconds"), commitBuckets);
  readonly #batches = this.registry.histogram(described("lead_commit_batch_entries"), batchBuckets);
  readonly #failedCommits = this.registry.counter(described("lead_commit_failures_total"));
  readonly #warnings = this.registry.counter(described("lead_commit_warnings_total"));
  readonly #failedRuns = this.registry.counter(described("lead_job_failures_total"));
  readonly #attempts = this.registry.counter(described("lead_delivery_attempts_total"));
  /** Repeated deliveries. */
  #repeats = 0;
  readonly #attemptDurations = this.registry.histogram(
    described("lead_delivery_attempt_duration_seconds"),
    attemptBuckets,
  );
  readonly #tierFailures = this.registry.counter(described("lead_tier_failures_total"));
  readonly #ages = this.registry.histogram(described("lead_time_to_delivery_seconds"), ageBuckets);
  readonly #deaths = this.registry.counter(described("lead_deaths_total"));

  readonly #wallMs: () => number;

  /** `wallMs` is the wall clock, in milliseconds since 1970. */
  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
    // Initialized, so that rates have a first value.
    for (const kind of posts.values()) {
      this.#accepted.add(0, { kind });
      this.#duplicates.add(0, { kind });
    }
    for (const verdict of ["clean", "honeypot", "spam"]) this.#submissions.add(0, { verdict });
    for (const outcome of ["delivered", "refused", "unreachable"]) this.#attempts.add(0, { outcome });
    for (const cause of failureCauses) this.#tierFailures.add(0, { cause });
    for (const reason of intakeReasons.values()) this.#refused.add(0, { kind: "lead", reason });
  }

  /** Counts an observation. */
  observe(observation: Observation): void {
    switch (observation.kind) {
      case "request":
        this.#refuse(observation);
        return this.#http.observe(observation);
      case "fault":
      case "certificate_in_use":
      case "certificate_refused":
        return this.#http.observe(observation);
      case "commit_warning":
        return this.#warnings.add(1);
      case "job_failed":
        return this.#failedRuns.add(1, { task: observation.event });
      case "batch_committed":
        return this.#committed(observation);
      case "batch_failed":
        return this.#failedCommits.add(1);
      case "post_refused":
        return this.#fields.add(1, { reason: observation.reason });
      case "tier_failure":
        return this.#tierFailures.add(1, { cause: observation.failure.cause });
      case "settled":
        return this.#settled(observation.settlements);
    }
  }

  #refuse({ route, status }: Access): void {
    const kind = posts.get(route);
    if (kind === undefined || status < 400) return;
    const reason = kind === "lead" ? intakeReasons.get(status) ?? String(status) : String(status);
    this.#refused.add(1, { kind, reason });
  }

  #committed({ entries, decisions, durationMs }: Extract<Observation, { kind: "batch_committed" }>): void {
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

  #settled(settlements: readonly Settlement[]): void {
    const wallMs = this.#wallMs();
    for (const { kind, outcome, durationMs, eventId, isRepeat } of settlements) {
      if (kind === "released") continue;
      this.#attempts.add(1, { outcome });
      this.#attemptDurations.observe(durationMs / 1_000, { outcome });
      // An event sent again was delivered before, perhaps months ago.
      if (isRepeat && outcome === "delivered") this.#repeats += 1;
      else if (kind === "delivered") this.#ages.observe(Math.max(0, wallMs - acceptedMs(eventId)) / 1_000);
      if (kind === "dead") this.#deaths.add(1);
    }
  }

  /** The counts that minute samples are differences of. */
  totals(): Pick<Sample, "accepted" | "refused" | "delivered" | "failed" | "died" | "refusals"> {
    const delivered = this.#attempts.total({ outcome: "delivered" });
    const refusals: Record<string, number> = {};
    for (const [reason, count] of this.#refused.totalsBy("reason")) {
      const code = codes.get(Number(reason)) ?? reason;
      refusals[code] = (refusals[code] ?? 0) + count;
    }
    return {
      accepted: this.#accepted.total(),
      refused: this.#refused.total(),
      delivered: delivered - this.#repeats,
      failed: this.#attempts.total() - delivered,
      died: this.#deaths.total(),
      refusals,
    };
  }
}
