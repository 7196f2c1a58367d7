/** Metrics about requests and certificates, for both processes. */

import type { Access, HttpObservation } from "../http/options.ts";
import { definition } from "./metrics.ts";
import type { CounterSeries, HistogramSeries, Registry } from "./registry.ts";

const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** The series for one route, method and status. */
interface RouteMeter {
  readonly requests: CounterSeries;
  readonly durations: HistogramSeries | null;
  readonly bytes: CounterSeries;
}

/** Counts requests and unexpected exceptions, and records the certificates in use. */
export class HttpMeters {
  readonly #requests;
  readonly #durations;
  readonly #bytes;
  readonly #aborted;
  readonly #faults;
  readonly #routes = new Map<string, RouteMeter>();
  /** The certificates' earliest expiry by purpose, in seconds since 1970. */
  readonly #expiresAtSeconds = new Map<string, number>();
  readonly #unusable = new Map<string, number>();

  constructor(registry: Registry) {
    this.#requests = registry.counter(definition("http_requests_total"));
    this.#durations = registry.histogram(definition("http_request_duration_seconds"), requestBuckets);
    this.#bytes = registry.counter(definition("http_response_body_bytes_total"));
    this.#aborted = registry.counter(definition("http_requests_aborted_total"));
    this.#faults = registry.counter(definition("lead_faults_total"));
    registry.gauge(definition("lead_certificate_expiry_timestamp_seconds"), () => this.#expiresAtSeconds);
    registry.gauge(definition("lead_certificate_refused"), () => this.#unusable);
  }

  observe(observation: HttpObservation): void {
    switch (observation.kind) {
      case "request":
        return this.#countRequest(observation);
      case "fault":
        return this.#faults.add(1);
      case "certificate_in_use":
        this.#expiresAtSeconds.set(observation.files, observation.expiresAtMs / 1_000);
        this.#unusable.set(observation.files, 0);
        return;
      case "certificate_refused":
        this.#unusable.set(observation.files, 1);
    }
  }

  #countRequest(access: Access): void {
    const { surface, route, method, status, durationMs, bytes, aborted } = access;
    const key = `${surface} ${route} ${method} ${status}`;
    let meter = this.#routes.get(key);
    if (meter === undefined) {
      meter = {
        requests: this.#requests.series({ surface, route, method, status: String(status) }),
        // Unreadable requests have no duration.
        durations: surface === "-" ? null : this.#durations.series({ surface, route, method }),
        bytes: this.#bytes.series({ surface }),
      };
      // The map is bounded, because the parts of the key come from fixed lists.
      this.#routes.set(key, meter);
    }
    meter.requests.value += 1;
    meter.durations?.add(durationMs / 1_000);
    meter.bytes.value += bytes;
    if (aborted) this.#aborted.add(1, { surface });
  }
}
