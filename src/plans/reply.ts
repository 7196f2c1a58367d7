/**
 * The error replies of the plan feed and the checkout, and what the checkout reports.
 *
 * @module
 */

import type { Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import type { ProviderChange } from "../store/serving/checkout.ts";
import type { StripeFailure } from "./stripe_client.ts";

/**
 * The codes of this surface and their status. Where the intake has a code for it, it is that one.
 *
 * Source: DECISIONS, Plans, checkout, site. Chosen, where it is silent: 422 for what is wrong in a body that could be
 * read, as on the intake; 409 for an Idempotency-Key under which something else was asked for; 502 when the payment
 * provider refuses what we ask of it, 503 when asking again later may help.
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

/** A machine code of this surface's error body. */
export type PlanErrorCode = keyof typeof planErrors;

/** Why a field of a checkout fails. */
export type FieldReason = "required" | "too_long" | "invalid";

/** What an error reply has besides its code. */
interface PlanRefusal {
  /** `null` for the answer that is made before the handler: the 429 of the public reads. */
  readonly requestId: string | null;
  readonly fields?: Readonly<Record<string, FieldReason>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error reply with its status. */
export function refusePlan(code: PlanErrorCode, { requestId, fields, headers }: PlanRefusal): Reply {
  return json(planErrors[code], {
    error: code,
    ...(requestId === null ? {} : { request_id: requestId }),
    ...(fields === undefined ? {} : { fields }),
  }, headers);
}

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
