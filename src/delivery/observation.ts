/**
 * What the delivery tells of its work.
 *
 * @module
 */

import type { TlsObservation } from "../http/tls_files.ts";
import type { Settlement } from "../store/delivery/outbox.ts";
import type { BreakerState } from "./breaker.ts";

/** One thing that has happened. */
export type DeliveryObservation =
  /** The store has taken them. */
  | { readonly kind: "settled"; readonly settlements: readonly Settlement[] }
  | { readonly kind: "breaker"; readonly state: BreakerState }
  /** A statement of the loop failed; the next look tries again. */
  | {
    readonly kind: "delivery_failure";
    readonly what: "claim" | "settle" | "poll";
    readonly error: unknown;
  }
  | TlsObservation;
