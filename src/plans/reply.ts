/** The error replies of the plan feed and the checkout, and what the checkout reports. */

import type { Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import type { ProviderChange } from "../store/serving/checkout.ts";
import type { StripeFailure } from "./stripe_client.ts";

/**
 * The error codes of this surface and their statuses; the intake's where it has one. Source: DECISIONS, Plans,
 * checkout, site. Chosen: 409 for another order under one Idempotency-Key; 502 when the provider refuses, 503 when a
 * retry may help.
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
  /** `null` for the 429 of the public reads, which comes before the handler. */
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
  /** The provider opened no session. */
  | {
    readonly kind: "checkout_failed";
    readonly requestId: string;
    readonly checkout: string;
    readonly failure: StripeFailure;
  }
  /** The provider's answer could not be stored; a repeat asks again, under the same id. */
  | { readonly kind: "checkout_not_noted"; readonly requestId: string; readonly checkout: string }
  /** An event of the provider, and its outcome. */
  | {
    readonly kind: "provider_event";
    readonly requestId: string;
    readonly change: ProviderChange;
    readonly outcome: string;
  };
