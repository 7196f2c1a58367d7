/**
 * What the actions process counts of its work: the effects and the digests, beside its listener and itself.
 *
 * @module
 */

import type { HttpObservation } from "../http/options.ts";
import { HttpMeters } from "./http_meters.ts";
import { described } from "./metrics.ts";
import { Registry } from "./registry.ts";

/** What the actions process tells of its work. */
export type ActionsObservation =
  | HttpObservation
  /** A call or a mail was tried; without a reason it is done. */
  | {
    readonly kind: "effect";
    /** The kind of its destination. */
    readonly destination: string;
    readonly reason: string | null;
    readonly durationMs: number;
  }
  /** A daily digest was tried; without a reason it is sent. */
  | { readonly kind: "digest"; readonly reason: string | null };

const effectBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

/** Reads observations into the counts of one process, from its start. */
export class ActionsMeters {
  readonly registry: Registry = new Registry();
  readonly #http = new HttpMeters(this.registry);
  readonly #effects = this.registry.counter(described("lead_effects_total"));
  readonly #durations = this.registry.histogram(described("lead_effect_duration_seconds"), effectBuckets);
  readonly #digests = this.registry.counter(described("lead_digests_total"));

  constructor() {
    for (const outcome of ["sent", "failed"]) this.#digests.add(0, { outcome });
  }

  /** Shows these kinds of destinations from the start, so that a rate over them has a first value. */
  expect(kinds: readonly string[]): void {
    for (const kind of kinds) this.#effects.add(0, { kind, outcome: "done" });
  }

  /** Counts what is counted of an observation. */
  observe(observation: ActionsObservation): void {
    switch (observation.kind) {
      case "effect": {
        const { destination: kind, reason, durationMs } = observation;
        this.#effects.add(1, { kind, outcome: reason === null ? "done" : classOf(reason) });
        this.#durations.observe(durationMs / 1_000, { kind });
        return;
      }
      case "digest":
        return this.#digests.add(1, { outcome: observation.reason === null ? "sent" : "failed" });
      default:
        this.#http.observe(observation);
    }
  }
}

/** The word of a failure with its status by the first digit: those who answer could make hundreds of them. */
function classOf(reason: string): string {
  return reason.replace(/_(\d)\d\d$/, "_$1xx");
}
