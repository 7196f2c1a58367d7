/** Handles `POST /api/checkout/sessions`, and opens sessions at the payment provider. */

import { fields } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { rateHeaderNames } from "../contract/rate_headers.ts";
import { decodeBody } from "../gate/post.ts";
import { digest128, readIdempotencyKey, type UsableIdempotencyKey } from "../gate/idempotency_key.ts";
import type { IpRateLimiter } from "../gate/rate.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { empty, json } from "../http/reply.ts";
import { looksLikeEmail } from "../lead/email.ts";
import { parseObject } from "../lead/json.ts";
import { Unavailable } from "../store/pool.ts";
import type { CheckoutStart, CheckoutStore, OpenSession, Sale } from "../store/serving/checkout.ts";
import { type FieldReason, type PlanErrorCode, type PlansObservation, refusePlan } from "./reply.ts";
import { openSession, type ReturnUrls, type SessionOutcome, type StripeClient } from "./stripe_client.ts";

export interface CheckoutParts {
  readonly store: CheckoutStore;
  readonly origins: ReadonlySet<string>;
  /** `null` without a payment provider. */
  readonly provider: { readonly client: StripeClient; readonly urls: ReturnUrls } | null;
  readonly ipLimiter: IpRateLimiter;
  /** Returns the monotonic time in milliseconds. */
  readonly nowMs: () => number;
  readonly observe: (observation: PlansObservation) => void;
}

type Headers = Readonly<Record<string, string>>;

/**
 * Creates the handler for all methods.
 *
 * Chosen: preflights are not rate limited, because a page cannot read why its preflight was refused.
 *
 * Source: SPEC, Subscription checkout; DECISIONS, Plans, checkout, site.
 */
export function checkoutHandler(parts: CheckoutParts): Handler {
  const checkout = new Checkout(parts);
  return async (exchange) => {
    const { requestId } = exchange;
    const cors = corsHeaders(parts.origins, exchange.header("origin"));
    if (exchange.method === "OPTIONS") {
      if (cors === null) return refusePlan("origin_not_allowed", { requestId, headers: varyOrigin });
      return empty(204, { ...cors, ...preflight, "Allow": allow });
    }
    const ip = parts.ipLimiter.allow(exchange.clientAddress, [], parts.nowMs());
    const headers = { ...varyOrigin, ...cors, ...ip.headers };
    if (!ip.isAllowed) return refusePlan("rate_limited", { requestId, headers });
    if (exchange.method !== "POST") {
      return refusePlan("method_not_allowed", { requestId, headers: { ...headers, "Allow": allow } });
    }
    if (cors === null) return refusePlan("origin_not_allowed", { requestId, headers });
    if (parts.provider === null) return refusePlan("checkout_unavailable", { requestId, headers });

    const body = await exchange.readBody(limits.bodyBytesMax);
    if (body.kind === "too_large") return refusePlan("body_too_large", { requestId, headers });
    if (body.kind === "incomplete") return refusePlan("invalid_json", { requestId, headers });
    try {
      return await respond(checkout, exchange, { bytes: body.bytes, headers });
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return refusePlan("checkout_unavailable", { requestId, headers });
    }
  };
}

const allow = "POST, OPTIONS";

async function respond(
  checkout: Checkout,
  exchange: Exchange,
  { bytes, headers }: { bytes: Uint8Array; headers: Headers },
): Promise<Reply> {
  const { requestId } = exchange;
  const text = decodeBody(exchange, bytes);
  const request = typeof text === "string" ? readCheckout(text) : { kind: "invalid_json" } as const;
  const key = readIdempotencyKey(exchange.headerLines("idempotency-key"));
  if (request.kind === "invalid_json" || key.kind === "repeated") {
    return refusePlan("invalid_json", { requestId, headers });
  }
  if (request.kind === "validation_failed" || key.kind === "too_long") {
    const fields = {
      ...(request.kind === "validation_failed" ? request.fields : {}),
      ...(key.kind === "too_long" ? { "Idempotency-Key": "too_long" } as const : {}),
    };
    return refusePlan("validation_failed", { requestId, fields, headers });
  }
  const ordered = await checkout.order({ ...request, key }, requestId);
  if (ordered.kind === "refused") return refusePlan(ordered.code, { ...ordered, requestId, headers });
  const { url, sessionId } = ordered.session;
  return json(ordered.status, { url, session_id: sessionId }, headers);
}

export interface Order {
  readonly plan: string;
  readonly email: string;
  readonly key: UsableIdempotencyKey;
}

export type OrderOutcome =
  /** 201 for a new session, 200 for an earlier one with the same Idempotency-Key. */
  | { readonly kind: "open"; readonly status: 200 | 201; readonly session: OpenSession }
  | {
    readonly kind: "refused";
    readonly code: PlanErrorCode;
    readonly fields?: Readonly<Record<string, FieldReason>>;
  };

export class Checkout {
  readonly #parts: CheckoutParts;
  /** The provider calls in progress, by the sale's id. Concurrent requests share a call. */
  readonly #opening = new Map<string, Promise<SessionOutcome>>();

  constructor(parts: CheckoutParts) {
    this.#parts = parts;
  }

  /** Opens a session, or returns the earlier one with the same Idempotency-Key. May reject with {@linkcode Unavailable}. */
  async order({ plan, email, key }: Order, requestId: string): Promise<OrderOutcome> {
    const start = await this.#parts.store.begin(plan, digests(key, { plan, email }));
    switch (start.kind) {
      case "conflict":
        return { kind: "refused", code: "idempotency_conflict" };
      case "plan_not_found":
        return { kind: "refused", code: "plan_not_found" };
      case "open":
        return { kind: "open", status: 200, session: start.session };
      default:
        return await this.#open(start, { requestId, email });
    }
  }

  async #open(
    { kind, sale }: Extract<CheckoutStart, { sale: Sale }>,
    { requestId, email }: { requestId: string; email: string },
  ): Promise<OrderOutcome> {
    let opening = this.#opening.get(sale.id);
    if (opening === undefined) {
      opening = this.#openOnce(sale, { requestId, email }).finally(() => this.#opening.delete(sale.id));
      this.#opening.set(sale.id, opening);
    }
    const outcome = await opening;
    if (outcome.kind === "open") {
      return { kind: "open", status: kind === "begun" ? 201 : 200, session: outcome.session };
    }
    if (outcome.kind === "email_refused") {
      return { kind: "refused", code: "validation_failed", fields: { email: "invalid" } };
    }
    return { kind: "refused", code: errorCode(outcome) };
  }

  async #openOnce(
    sale: Sale,
    { requestId, email }: { requestId: string; email: string },
  ): Promise<SessionOutcome> {
    const { provider, store, observe } = this.#parts;
    if (provider === null) throw new Error("There is no payment provider");
    const outcome = await openSession(provider.client, sale, { email, urls: provider.urls });
    if ("failure" in outcome) {
      observe({ kind: "checkout_failed", requestId, checkout: sale.id, failure: outcome.failure });
    }
    try {
      if (outcome.kind === "open") await store.opened(sale.id, outcome.session);
      else if (outcome.kind !== "not_now" || outcome.isFinal) await store.failed(sale.id);
    } catch (error) {
      // The caller gets the outcome anyway, and a retry calls the provider again with the same id.
      if (!(error instanceof Unavailable)) throw error;
      observe({ kind: "checkout_not_noted", requestId, checkout: sale.id });
    }
    return outcome;
  }
}

function errorCode({ kind }: SessionOutcome): PlanErrorCode {
  return kind === "refused" ? "provider_error" : "checkout_unavailable";
}

/** Returns digests of the key and the order, or `null` without a key. */
function digests(
  key: UsableIdempotencyKey,
  { plan, email }: { readonly plan: string; readonly email: string },
): { keyDigest: string; requestDigest: string } | null {
  if (key.kind === "absent") return null;
  return {
    keyDigest: digest128(key.bytes),
    // Includes the key, so that the digest does not confirm a guessed email address.
    requestDigest: digest128(JSON.stringify([key.text, plan, email])),
  };
}

type CheckoutRequest =
  | { readonly kind: "valid"; readonly plan: string; readonly email: string }
  | { readonly kind: "invalid_json" }
  | { readonly kind: "validation_failed"; readonly fields: Readonly<Record<string, FieldReason>> };

const slugLengthMax = 100;

/** Parses the body of a checkout request. Chosen: other members are ignored, and `null` counts as omitted. */
export function readCheckout(text: string): CheckoutRequest {
  const body = parseObject(text, limits.jsonDepthMax);
  if (body === null) return { kind: "invalid_json" };
  const { plan = null, email = null } = body;
  return readOrder(plan, email);
}

/** Validates an order; `null` stands for an omitted value. Chosen: the email address is trimmed. */
export function readOrder(sentPlan: unknown, sentEmail: unknown): CheckoutRequest {
  for (const value of [sentPlan, sentEmail]) {
    if (value !== null && typeof value !== "string") return { kind: "invalid_json" };
  }
  const plan = sentPlan as string | null ?? "";
  const email = (sentEmail as string | null ?? "").trim();
  const reasons: Record<string, FieldReason> = {};
  if (plan === "") reasons.plan = "required";
  else if (plan.length > slugLengthMax) reasons.plan = "too_long";
  if (email === "") reasons.email = "required";
  else if ([...email].length > fields.email.lengthMax) reasons.email = "too_long";
  else if (!looksLikeEmail(email) || /\p{Cc}/u.test(email) || !email.isWellFormed()) {
    reasons.email = "invalid";
  }
  return Object.keys(reasons).length === 0
    ? { kind: "valid", plan, email }
    : { kind: "validation_failed", fields: reasons };
}

type CorsHeaders = Readonly<Record<string, string>>;

const varyOrigin: CorsHeaders = { "Vary": "Origin" };

/** Returns the CORS headers for an allowed origin, `null` for any other. Source: RFC 6454, 6.2 (comparison). */
function corsHeaders(origins: ReadonlySet<string>, origin: string | undefined): CorsHeaders | null {
  if (origin === undefined || !origins.has(origin)) return null;
  return {
    ...varyOrigin,
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Expose-Headers": ["Retry-After", ...rateHeaderNames, "X-Request-Id"].join(", "),
  };
}

const preflight: CorsHeaders = {
  "Access-Control-Allow-Methods": "POST",
  "Access-Control-Allow-Headers": "Content-Type, Idempotency-Key, X-Request-Id",
  // Chosen: 5 minutes, so that the removal of an origin takes effect soon.
  "Access-Control-Max-Age": "300",
};
