/** `POST /api/checkout/sessions`, with its checks in the order of the code; the payment provider comes last. */

import { fields } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { rateHeaderNames } from "../contract/rate_headers.ts";
import { bodyText, digest128 } from "../gate/post.ts";
import { readIdempotencyKey, type UsableIdempotencyKey } from "../gate/idempotency_key.ts";
import type { IpBudget } from "../gate/rate.ts";
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
  readonly ipBudget: IpBudget;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
  readonly observe: (observation: PlansObservation) => void;
}

type Headers = Readonly<Record<string, string>>;

/**
 * The handler, for every method. Chosen: a preflight is not counted: a refused one cannot tell the page why. Source:
 * SPEC, Subscription checkout; DECISIONS, Plans, checkout, site.
 */
export function checkoutHandler(parts: CheckoutParts): Handler {
  const checkout = new Checkout(parts);
  return async (exchange) => {
    const { requestId } = exchange;
    const cors = corsOf(parts.origins, exchange.header("origin"));
    if (exchange.method === "OPTIONS") {
      if (cors === null) return refusePlan("origin_not_allowed", { requestId, headers: varyOrigin });
      return empty(204, { ...cors, ...preflight, "Allow": allow });
    }
    const ip = parts.ipBudget.spend(exchange.clientAddress, [], parts.nowMs());
    const headers = { ...varyOrigin, ...cors, ...ip.headers };
    if (!ip.allowed) return refusePlan("rate_limited", { requestId, headers });
    if (exchange.method !== "POST") {
      return refusePlan("method_not_allowed", { requestId, headers: { ...headers, "Allow": allow } });
    }
    if (cors === null) return refusePlan("origin_not_allowed", { requestId, headers });
    if (parts.provider === null) return refusePlan("checkout_unavailable", { requestId, headers });

    const body = await exchange.readBody(limits.bodyBytesMax);
    if (body.kind === "too_large") return refusePlan("body_too_large", { requestId, headers });
    if (body.kind === "incomplete") return refusePlan("invalid_json", { requestId, headers });
    try {
      return await answer(checkout, exchange, { bytes: body.bytes, headers });
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return refusePlan("checkout_unavailable", { requestId, headers });
    }
  };
}

const allow = "POST, OPTIONS";

async function answer(
  checkout: Checkout,
  exchange: Exchange,
  { bytes, headers }: { bytes: Uint8Array; headers: Headers },
): Promise<Reply> {
  const { requestId } = exchange;
  const text = bodyText(exchange, bytes);
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

export type Ordered =
  /** 201 for a new session, 200 for one that was opened before under the same key. */
  | { readonly kind: "open"; readonly status: 200 | 201; readonly session: OpenSession }
  | {
    readonly kind: "refused";
    readonly code: PlanErrorCode;
    readonly fields?: Readonly<Record<string, FieldReason>>;
  };

/** Opens sessions at the payment provider. */
export class Checkout {
  readonly #parts: CheckoutParts;
  /** Calls in progress by sale, so that a sale is not opened twice at once. */
  readonly #opening = new Map<string, Promise<SessionOutcome>>();

  constructor(parts: CheckoutParts) {
    this.#parts = parts;
  }

  /** Opens one session per order. Throws {@linkcode Unavailable}. */
  async order({ plan, email, key }: Order, requestId: string): Promise<Ordered> {
    const begun = await this.#parts.store.begin(plan, digests(key, { plan, email }));
    switch (begun.kind) {
      case "conflict":
        return { kind: "refused", code: "idempotency_conflict" };
      case "plan_not_found":
        return { kind: "refused", code: "plan_not_found" };
      case "open":
        return { kind: "open", status: 200, session: begun.session };
      default:
        return await this.#open(begun, { requestId, email });
    }
  }

  async #open(
    { kind, sale }: Extract<CheckoutStart, { sale: Sale }>,
    { requestId, email }: { requestId: string; email: string },
  ): Promise<Ordered> {
    let asked = this.#opening.get(sale.id);
    if (asked === undefined) {
      asked = this.#ask(sale, { requestId, email }).finally(() => this.#opening.delete(sale.id));
      this.#opening.set(sale.id, asked);
    }
    const outcome = await asked;
    if (outcome.kind === "open") {
      return { kind: "open", status: kind === "begun" ? 201 : 200, session: outcome.session };
    }
    if (outcome.kind === "email_refused") {
      return { kind: "refused", code: "validation_failed", fields: { email: "invalid" } };
    }
    return { kind: "refused", code: codeOf(outcome) };
  }

  /** Asks the provider and stores the answer. */
  async #ask(
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
      // The answer stands; a repeat asks the provider again, under the same id.
      if (!(error instanceof Unavailable)) throw error;
      observe({ kind: "checkout_not_noted", requestId, checkout: sale.id });
    }
    return outcome;
  }
}

function codeOf({ kind }: SessionOutcome): PlanErrorCode {
  return kind === "refused" ? "provider_error" : "checkout_unavailable";
}

/** Digests of the key and of the order; the second includes the key, so that nobody can guess an address from it. */
function digests(
  key: UsableIdempotencyKey,
  { plan, email }: { readonly plan: string; readonly email: string },
): { keyDigest: string; requestDigest: string } | null {
  if (key.kind === "absent") return null;
  return {
    keyDigest: digest128(key.bytes),
    requestDigest: digest128(JSON.stringify([key.text, plan, email])),
  };
}

/** The outcome of {@linkcode readCheckout}. */
type CheckoutRequest =
  | { readonly kind: "valid"; readonly plan: string; readonly email: string }
  | { readonly kind: "invalid_json" }
  | { readonly kind: "validation_failed"; readonly fields: Readonly<Record<string, FieldReason>> };

const slugLengthMax = 100;

/** Reads a checkout's body. Chosen: other members are ignored; `null` counts as omitted; the address is trimmed. */
export function readCheckout(text: string): CheckoutRequest {
  const body = parseObject(text, limits.jsonDepthMax);
  if (body === null) return { kind: "invalid_json" };
  const { plan = null, email = null } = body;
  return readOrder(plan, email);
}

/** Reads the two values of an order; `null` for an omitted one. */
export function readOrder(sentPlan: unknown, sentEmail: unknown): CheckoutRequest {
  for (const value of [sentPlan, sentEmail]) {
    if (value !== null && typeof value !== "string") return { kind: "invalid_json" };
  }
  const plan = sentPlan as string | null ?? "";
  const email = (sentEmail as string | null ?? "").trim();
  const failing: Record<string, FieldReason> = {};
  if (plan === "") failing.plan = "required";
  else if (plan.length > slugLengthMax) failing.plan = "too_long";
  if (email === "") failing.email = "required";
  else if ([...email].length > fields.email.lengthMax) failing.email = "too_long";
  else if (!looksLikeEmail(email) || /\p{Cc}/u.test(email) || !email.isWellFormed()) {
    failing.email = "invalid";
  }
  return Object.keys(failing).length === 0
    ? { kind: "valid", plan, email }
    : { kind: "validation_failed", fields: failing };
}

type CorsHeaders = Readonly<Record<string, string>>;

/** Every answer depends on the origin. */
export const varyOrigin: CorsHeaders = { "Vary": "Origin" };

/** CORS headers for an origin on the list, compared character by character (RFC 6454, 6.2); `null` for any other. */
export function corsOf(origins: ReadonlySet<string>, origin: string | undefined): CorsHeaders | null {
  if (origin === undefined || !origins.has(origin)) return null;
  return {
    ...varyOrigin,
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Expose-Headers": ["Retry-After", ...rateHeaderNames, "X-Request-Id"].join(", "),
  };
}

export const preflight: CorsHeaders = {
  "Access-Control-Allow-Methods": "POST",
  "Access-Control-Allow-Headers": "Content-Type, Idempotency-Key, X-Request-Id",
  // Chosen: short, so that an origin taken off the list notices soon.
  "Access-Control-Max-Age": "300",
};
