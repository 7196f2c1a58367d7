/**
 * `POST /api/checkout/sessions`, in its order of checks: per-IP limit, method, origin, provider, body cap, body,
 * idempotency and plan, and last the payment provider.
 *
 * @module
 */

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

/** What the handler works with. */
export interface CheckoutParts {
  readonly store: CheckoutStore;
  readonly origins: ReadonlySet<string>;
  /** `null` when there is none to ask. */
  readonly provider: { readonly client: StripeClient; readonly urls: ReturnUrls } | null;
  readonly ipBudget: IpBudget;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
  readonly observe: (observation: PlansObservation) => void;
}

type Headers = Readonly<Record<string, string>>;

/**
 * The handler, for every method.
 *
 * Source: SPEC, Subscription checkout; DECISIONS, Plans, checkout, site. Chosen: a preflight spends nothing of the
 * budget, because a browser that is refused one cannot tell its page why.
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

/** A checkout that is asked for. */
export interface Order {
  readonly plan: string;
  readonly email: string;
  readonly key: UsableIdempotencyKey;
}

/** What became of it. */
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
  /** Calls of the provider under way by sale, so that the same one is not made twice at once. */
  readonly #opening = new Map<string, Promise<SessionOutcome>>();

  constructor(parts: CheckoutParts) {
    this.#parts = parts;
  }

  /** Opens the session of an order, once however often it comes. Throws {@linkcode Unavailable}. */
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

  /** Asks the provider and notes what it said. */
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
      // The answer is known all the same; a repeat asks the provider again, under the same id.
      if (!(error instanceof Unavailable)) throw error;
      observe({ kind: "checkout_not_noted", requestId, checkout: sale.id });
    }
    return outcome;
  }
}

function codeOf({ kind }: SessionOutcome): PlanErrorCode {
  return kind === "refused" ? "provider_error" : "checkout_unavailable";
}

/**
 * The key's digest, and that of what is asked for under it. The key is in the second one too, so that no address can be
 * guessed from it.
 */
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

// Longer than any slug that can be put.
const slugLengthMax = 100;

/**
 * Reads it. Chosen: other members are ignored, an amount and an interval too: the price is the plan's. `null` counts as
 * left out, and the address is trimmed, both as on the intake; its case is the buyer's.
 */
export function readCheckout(text: string): CheckoutRequest {
  const body = parseObject(text, limits.jsonDepthMax);
  if (body === null) return { kind: "invalid_json" };
  const { plan = null, email = null } = body;
  return readOrder(plan, email);
}

/** The same of two values, `null` for one that was left out. */
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

/** Headers of every answer to an origin that is allowed. */
type CorsHeaders = Readonly<Record<string, string>>;

/** The answer depends on who asks, whoever asks. */
export const varyOrigin: CorsHeaders = { "Vary": "Origin" };

/**
 * The headers for an origin of the list; `null` for any other, for none, and for `null`.
 *
 * Compared as the browser writes it, character by character: RFC 6454, section 6.2. Two `Origin` headers are joined by
 * a comma and are no origin of the list.
 */
export function corsOf(origins: ReadonlySet<string>, origin: string | undefined): CorsHeaders | null {
  if (origin === undefined || !origins.has(origin)) return null;
  return {
    ...varyOrigin,
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Expose-Headers": ["Retry-After", ...rateHeaderNames, "X-Request-Id"].join(", "),
  };
}

/** What a preflight learns besides. */
export const preflight: CorsHeaders = {
  "Access-Control-Allow-Methods": "POST",
  "Access-Control-Allow-Headers": "Content-Type, Idempotency-Key, X-Request-Id",
  // Chosen: as long as the feed is kept, so that an origin that was taken off the list notices soon.
  "Access-Control-Max-Age": "300",
};
