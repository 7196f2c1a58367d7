/** Metrics of listeners and certificates, shared by both processes. */

import type { Access, HttpObservation } from "../http/options.ts";
import { described } from "./metrics.ts";
import type { Count, Observations, Registry } from "./registry.ts";

const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** The series of a route, method and status. */
interface RouteMeter {
  readonly requests: Count;
  readonly durations: Observations | null;
  readonly bytes: Count;
}

/** Counts requests and faults, and records the certificates in use. */
export class HttpMeters {
  readonly #requests;
  readonly #durations;
  readonly #bytes;
  readonly #aborted;
  readonly #faults;
  readonly #routes = new Map<string, RouteMeter>();
  /** Expiry by purpose, in seconds since 1970. */
  readonly #endsAt = new Map<string, number>();
  readonly #refused = new Map<string, number>();

  constructor(registry: Registry) {
    this.#requests = registry.counter(described("http_requests_total"));
    this.#durations = registry.histogram(described("http_request_duration_seconds"), requestBuckets);
    this.#bytes = registry.counter(described("http_response_body_bytes_total"));
    this.#aborted = registry.counter(described("http_requests_aborted_total"));
    this.#faults = registry.counter(described("lead_faults_total"));
    registry.gauge(described("lead_certificate_expiry_timestamp_seconds"), () => this.#endsAt);
    registry.gauge(described("lead_certificate_refused"), () => this.#refused);
  }

  /** Counts an observation. */
  observe(observation: HttpObservation): void {
    switch (observation.kind) {
      case "request":
        return this.#request(observation);
      case "fault":
        return this.#faults.add(1);
      case "certificate_in_use":
        this.#endsAt.set(observation.files, observation.endsAtMs / 1_000);
        this.#refused.set(observation.files, 0);
        return;
      case "certificate_refused":
        this.#refused.set(observation.files, 1);
    }
  }

  #request(access: Access): void {
    const { surface, route, method, status, durationMs, bytes, aborted } = access;
    const key = `${surface} ${route} ${method} ${status}`;
    let meter = this.#routes.get(key);
    if (meter === undefined) {
      meter = {
        requests: this.#requests.at({ surface, route, method, status: String(status) }),
        // Unreadable requests have no duration.
        durations: surface === "-" ? null : this.#durations.at({ surface, route, method }),
        bytes: this.#bytes.at({ surface }),
      };
      // Bounded, because its parts come from our own lists.
      this.#routes.set(key, meter);
    }
    meter.requests.value += 1;
    meter.durations?.add(durationMs / 1_000);
    meter.bytes.value += bytes;
    if (aborted) this.#aborted.add(1, { surface });
  }
}
