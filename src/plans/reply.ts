/** Builds the error replies of the plan feed and the checkout, and declares what the checkout reports. */

import type { Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import type { ProviderChange } from "../store/serving/checkout.ts";
import type { StripeFailure } from "./stripe_client.ts";

/**
 * The error codes of this surface and their statuses. Codes that the intake also uses have the same status there.
 *
 * Chosen: 409 for another order with the same Idempotency-Key; 502 if the provider refuses; 503 if a retry may succeed.
 *
 * Source: DECISIONS, Plans, checkout, site.
 */
export const planErrors = {
  invalid_json: 400,
  invalid_signature: 400,
  origin_not_allowed: 403,
  not_found: 404,
  method_not_allowed: 405,
  idempotency_conflict: 409,
  body_too_large: 413,
  validation_failed: 422,
  plan_not_found: 422,
  rate_limited: 429,
  provider_error: 502,
  checkout_unavailable: 503,
  not_accepting: 503,
} as const satisfies Record<string, number>;

export type PlanErrorCode = keyof typeof planErrors;

export type FieldReason = "required" | "too_long" | "invalid";

interface PlanRefusal {
  /** `null` for the 429 of public reads, which is sent before a handler runs. */
  readonly requestId: string | null;
  readonly fields?: Readonly<Record<string, FieldReason>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export function refusePlan(code: PlanErrorCode, { requestId, fields, headers }: PlanRefusal): Reply {
  return json(planErrors[code], {
    error: code,
    ...(requestId === null ? {} : { request_id: requestId }),
    ...(fields === undefined ? {} : { fields }),
  }, headers);
}

export type PlansObservation =
  /** The payment provider opened no session. */
  | {
    readonly kind: "checkout_failed";
    readonly requestId: string;
    readonly checkout: string;
    readonly failure: StripeFailure;
  }
  /** The provider's response could not be stored. A repeat of the request calls the provider again with the same id. */
  | { readonly kind: "checkout_not_noted"; readonly requestId: string; readonly checkout: string }
  /** The service received an event from the provider. */
  | {
    readonly kind: "provider_event";
    readonly requestId: string;
    readonly change: ProviderChange;
    readonly outcome: string;
  };
