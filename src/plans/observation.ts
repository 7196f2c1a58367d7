/**
 * What the checkout tells of its work with the payment provider.
 *
 * @module
 */

import type { ProviderChange } from "../store/serving/checkout.ts";
import type { StripeFailure } from "./stripe_client.ts";

/** One thing that has happened. */
export type PlansObservation =
  /** The provider would open no session. */
  | {
    readonly kind: "checkout_failed";
    readonly requestId: string;
    readonly checkout: string;
    readonly failure: StripeFailure;
  }
  /** What the provider said could not be noted; a repeat asks it again, under the same id. */
  | { readonly kind: "checkout_not_noted"; readonly requestId: string; readonly checkout: string }
  /** An event of the provider's, and what became of it. */
  | {
    readonly kind: "provider_event";
    readonly requestId: string;
    readonly change: ProviderChange;
    readonly outcome: string;
  };
