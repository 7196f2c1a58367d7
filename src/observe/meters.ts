/**
 * What the service process counts and measures of its own work: the metrics of `/metrics`, by name, and where each
 * comes from.
 *
 * @module
 */

import { errors } from "../contract/errors.ts";
import { failureCauses } from "../delivery/tier_failure.ts";
import { formErrors } from "../contract/form_errors.ts";
import { acceptedMs } from "../contract/event_id.ts";
import type { Access } from "../http/options.ts";
import { type Count, type Observations, Registry } from "./registry.ts";
import type { Settlement } from "../store/delivery/outbox.ts";
import type { Sample } from "../store/jobs/samples.ts";
import type { Observation } from "./observation.ts";

const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const batchBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const attemptBuckets = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
// From at once to the last of the attempts.
const ageBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 21_600, 86_400, 259_200];

/** Which code of the intake an answer to a post has, by its status. */
const intakeReasons: ReadonlyMap<number, string> = new Map(
  Object.entries(errors).map(([code, { status }]) => [status, code]),
);

/** The codes by status, the intake's before those of the forms: a plot has one line for what both refuse alike. */
const codes: ReadonlyMap<number, string> = new Map(
  [...Object.entries(formErrors), ...Object.entries(errors)].map(([code, { status }]) => [status, code]),
);

const posts: ReadonlyMap<string, string> = new Map([
  ["/v1/intake", "lead"],
  ["/v1/forms/{tenant}/{form_key}", "form"],
]);

/** The series that a request of one route, method and status is counted in. */
interface RouteMeter {
  readonly requests: Count;
  readonly durations: Observations | null;
  readonly bytes: Count;
  readonly refused: Count | null;
}

/** Reads observations into the counts of one process, from its start. */
export class Meters {
  readonly registry: Registry = new Registry();
  readonly #requests = this.registry.counter({
    name: "http_requests_total",
    help:
      "Requests answered, by listener, route pattern, method and status; - where there is none of our own.",
    labels: ["surface", "route", "method", "status"],
  });
  readonly #durations = this.registry.histogram({
    name: "http_request_duration_seconds",
    help: "From the end of a request's headers to its answer handed over.",
    labels: ["surface", "route", "method"],
  }, requestBuckets);
  readonly #bytes = this.registry.counter({
    name: "http_response_body_bytes_total",
    help: "Bytes of answers' bodies handed to their connections.",
    labels: ["surface"],
  });
  readonly #aborted = this.registry.counter({
    name: "http_requests_aborted_total",
    help: "Requests whose connection closed before the answer was handed over whole.",
    labels: ["surface"],
  });
  readonly #accepted = this.registry.counter({
    name: "lead_accepted_total",
    help: "Events committed, by kind: leads and form submissions.",
    labels: ["kind"],
  });
  readonly #duplicates = this.registry.counter({
    name: "lead_duplicates_total",
    help: "Posts answered with the event of an earlier one, by kind.",
    labels: ["kind"],
  });
  readonly #refused = this.registry.counter({
    name: "lead_refused_total",
    help:
      "Posts that were not taken, by kind and reason: an error code of the intake, or the status of the forms.",
    labels: ["kind", "reason"],
  });
  readonly #fields = this.registry.counter({
    name: "lead_refused_fields_total",
    help: "Reasons for which key holders' posts were refused, by reason; several for one post.",
    labels: ["reason"],
  });
  readonly #submissions = this.registry.counter({
    name: "lead_submissions_total",
    help: "Form submissions committed, by verdict; all but the clean ones are held.",
    labels: ["verdict"],
  });
  readonly #commits = this.registry.histogram({
    name: "lead_commit_duration_seconds",
    help: "A batch's commit, from the statement sent to its outcome.",
  }, commitBuckets);
  readonly #batches = this.registry.histogram({
    name: "lead_commit_batch_entries",
    help: "Posts that one commit has taken together.",
  }, batchBuckets);
  readonly #failedCommits = this.registry.counter({
    name: "lead_commit_failures_total",
    help: "Commits that failed or whose outcome is unknown.",
  });
  readonly #attempts = this.registry.counter({
    name: "lead_delivery_attempts_total",
    help: "Attempts to deliver, by outcome.",
    labels: ["outcome"],
  });
  /** Attempts that have delivered what was delivered before. */
  #repeats = 0;
  readonly #attemptDurations = this.registry.histogram({
    name: "lead_delivery_attempt_duration_seconds",
    help: "An attempt to deliver, from the request to its outcome.",
    labels: ["outcome"],
  }, attemptBuckets);
  readonly #tierFailures = this.registry.counter({
    name: "lead_tier_failures_total",
    help: "Times that the actions tier gave this process no answer, or 503, by cause; probes count too.",
    labels: ["cause"],
  });
  readonly #ages = this.registry.histogram({
    name: "lead_time_to_delivery_seconds",
    help: "From an event's acceptance to its delivery.",
  }, ageBuckets);
  readonly #deaths = this.registry.counter({
    name: "lead_deaths_total",
    help: "Events given up: dead letters made.",
  });

  readonly #routes = new Map<string, RouteMeter>();

  readonly #wallMs: () => number;

  /** `wallMs` is the wall clock, in milliseconds since 1970. */
  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
    // Known from the start, so that a rate over them has a first value.
    for (const kind of posts.values()) {
      this.#accepted.add(0, { kind });
      this.#duplicates.add(0, { kind });
    }
    for (const verdict of ["clean", "honeypot", "spam"]) this.#submissions.add(0, { verdict });
    for (const outcome of ["delivered", "refused", "unreachable"]) this.#attempts.add(0, { outcome });
    for (const cause of failureCauses) this.#tierFailures.add(0, { cause });
    for (const reason of intakeReasons.values()) this.#refused.add(0, { kind: "lead", reason });
  }

  /** Counts what is counted of an observation. */
  observe(observation: Observation): void {
    switch (observation.kind) {
      case "request":
        return this.#request(observation);
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

  #request(access: Access): void {
    const { surface, route, method, status, durationMs, bytes, aborted } = access;
    const key = `${surface} ${route} ${method} ${status}`;
    let meter = this.#routes.get(key);
    if (meter === undefined) {
      meter = this.#routeMeter(access);
      // Bounded like the families: what it is made of comes from lists of our own.
      this.#routes.set(key, meter);
    }
    meter.requests.value += 1;
    meter.durations?.add(durationMs / 1_000);
    meter.bytes.value += bytes;
    if (meter.refused !== null) meter.refused.value += 1;
    if (aborted) this.#aborted.add(1, { surface });
  }

  #routeMeter({ surface, route, method, status }: Access): RouteMeter {
    const kind = posts.get(route);
    const reason = kind === "lead" ? intakeReasons.get(status) ?? String(status) : String(status);
    return {
      requests: this.#requests.at({ surface, route, method, status: String(status) }),
      // What could not be read took no time of ours.
      durations: surface === "-" ? null : this.#durations.at({ surface, route, method }),
      bytes: this.#bytes.at({ surface }),
      refused: kind === undefined || status < 400 ? null : this.#refused.at({ kind, reason }),
    };
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
      // What an operator has sent again was delivered before, perhaps months ago.
      if (isRepeat && outcome === "delivered") this.#repeats += 1;
      else if (kind === "delivered") this.#ages.observe(Math.max(0, wallMs - acceptedMs(eventId)) / 1_000);
      if (kind === "dead") this.#deaths.add(1);
    }
  }

  /** What the minute samples are the differences of. */
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
