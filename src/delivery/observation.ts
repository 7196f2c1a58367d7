/**
 * What the delivery tells of its work.
 *
 * @module
 */

import type { TlsObservation } from "../http/tls_files.ts";
import type { Settlement } from "../store/delivery/outbox.ts";
import type { TierFailure } from "./tier_failure.ts";

/** One thing that has happened. */
export type DeliveryObservation =
  /** The store has taken them. */
  | { readonly kind: "settled"; readonly settlements: readonly Settlement[] }
  /**
   * The breaker has opened, or is open for another reason; without a failure it has closed. A probe that fails as the
   * one before is no news.
   */
  | { readonly kind: "breaker"; readonly failure: TierFailure | null }
  /** The tier could not be reached, gave no answer or said that it cannot work, each time. */
  | { readonly kind: "tier_failure"; readonly failure: TierFailure }
  /** A statement of the loop failed; the next look tries again. */
  | {
    readonly kind: "delivery_failure";
    readonly what: "claim" | "settle" | "poll";
    readonly error: unknown;
  }
  | TlsObservation;
