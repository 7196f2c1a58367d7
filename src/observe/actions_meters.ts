/** The actions process's metrics: effects and digests. */

import type { HttpObservation } from "../http/options.ts";
import { HttpMeters } from "./http_meters.ts";
import { definition } from "./metrics.ts";
import { Registry } from "./registry.ts";

/** The actions process's observations. */
export type ActionsObservation =
  | HttpObservation
  /** An effect was attempted; `reason` is `null` if the attempt succeeded. */
  | {
    readonly kind: "effect";
    /** The destination's kind. */
    readonly destination: string;
    readonly reason: string | null;
    readonly durationMs: number;
  }
  /** A digest was attempted; `reason` is `null` if the digest was sent. */
  | { readonly kind: "digest"; readonly reason: string | null };

const effectBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

/** Counts the actions process's observations. */
export class ActionsMeters {
  readonly registry: Registry = new Registry();
  readonly #http = new HttpMeters(this.registry);
  readonly #effects = this.registry.counter(definition("lead_effects_total"));
  readonly #durations = this.registry.histogram(definition("lead_effect_duration_seconds"), effectBuckets);
  readonly #digests = this.registry.counter(definition("lead_digests_total"));

  constructor() {
    for (const outcome of ["sent", "failed"]) this.#digests.add(0, { outcome });
  }

  /** Sets the counters for these kinds of destinations to 0, so that their rates are known from the first effect on. */
  initialize(kinds: readonly string[]): void {
    for (const kind of kinds) this.#effects.add(0, { kind, outcome: "done" });
  }

  observe(observation: ActionsObservation): void {
    switch (observation.kind) {
      case "effect": {
        const { destination: kind, reason, durationMs } = observation;
        this.#effects.add(1, { kind, outcome: reason === null ? "done" : withStatusClass(reason) });
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

/** Replaces a status in a failure's reason with its class, because receivers could send hundreds of different statuses. */
function withStatusClass(reason: string): string {
  return reason.replace(/_(\d)\d\d$/, "_$1xx");
}
