/**
 * `POST /api/stripe/webhook`: events about checkouts and subscriptions. Source: Stripe, Receive events in your
 * webhook endpoint; Using webhooks with subscriptions; Types of events.
 */

import { limits } from "../contract/limits.ts";
import type { Body, Exchange, Handler } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import { isObject, parseObject } from "../lead/json.ts";
import { Unavailable } from "../store/pool.ts";
import {
  type CheckoutStore,
  type ProviderChange,
  type SubscriptionState,
  subscriptionStates,
} from "../store/serving/checkout.ts";
import { type PlansObservation, refusePlan } from "./reply.ts";
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";

export interface WebhookParts {
  readonly store: CheckoutStore;
  /** Empty without a payment provider. */
  readonly secrets: readonly string[];
  /** Milliseconds since 1970. */
  readonly clockMs: () => number;
  readonly observe: (observation: PlansObservation) => void;
}

// Together 32 MiB.
const largeOnesMax = 64;

const received = json(200, { received: true });
const utf8 = new TextDecoder("utf-8");

/**
 * The handler. The signature alone authenticates; after anything but 2xx the provider resends for days. Chosen: 200
 * for unknown events and subscriptions, because a repeat would not change that. Source: DECISIONS, Plans, checkout,
 * site.
 */
export function webhookHandler({ store, secrets, clockMs, observe }: WebhookParts): Handler {
  const read = eventReader();
  return async (exchange) => {
    const { requestId } = exchange;
    if (secrets.length === 0) return refusePlan("checkout_unavailable", { requestId });
    const body = await read(exchange);
    if (body === null) return refusePlan("not_accepting", { requestId });
    if (body.kind === "too_large") return refusePlan("body_too_large", { requestId });
    if (body.kind === "incomplete") return refusePlan("invalid_json", { requestId });

    const header = exchange.header("stripe-signature");
    if (!isSigned(body.bytes, header, { secrets, nowSeconds: Math.floor(clockMs() / 1000) })) {
      return refusePlan("invalid_signature", { requestId });
    }
    const event = readEvent(utf8.decode(body.bytes));
    if (event.kind === "malformed") return refusePlan("invalid_json", { requestId });
    if (event.kind === "ignored") return received;

    const { change } = event;
    try {
      const outcome = await store.apply(change);
      observe({ kind: "provider_event", requestId, change, outcome });
      return received;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return refusePlan("not_accepting", { requestId });
    }
  };
}

/**
 * Reads a body; `null` over the bound on large ones, because a signature can be checked only when all of it is there.
 */
function eventReader(): (exchange: Exchange) => Promise<Body | null> {
  let largeOnes = 0;
  return async (exchange) => {
    // Nearly all events are this small.
    if (Number(exchange.header("content-length") ?? NaN) <= limits.bodyBytesMax) {
      return await exchange.readBody(limits.bodyBytesMax);
    }
    if (largeOnes >= largeOnesMax) return null;
    largeOnes += 1;
    try {
      return await exchange.readBody(limits.providerEventBytesMax);
    } finally {
      largeOnes -= 1;
    }
  };
}

interface SignatureRule {
  /** Several during a rotation. */
  readonly secrets: readonly string[];
  /** Seconds since 1970. */
  readonly nowSeconds: number;
}

// As in the provider's libraries. Chosen: for future times too, which are no more credible than old ones.
const toleranceSeconds = 300;

/** Whether the header has a `v1` signature of these bytes by one of the secrets, at most five minutes old. */
export function isSigned(body: Uint8Array, header: string | undefined, rule: SignatureRule): boolean {
  const { time, signatures } = parseHeader(header ?? "");
  if (time === null || Math.abs(rule.nowSeconds - Number(time)) > toleranceSeconds) return false;
  let isFound = false;
  for (const secret of rule.secrets) {
    const expected = createHmac("sha256", secret).update(`${time}.`).update(body).digest();
    // No early exit: the time must not tell which one matched.
    for (const signature of signatures) if (timingSafeEqual(expected, signature)) isFound = true;
  }
  return isFound;
}

function parseHeader(header: string): { time: string | null; signatures: Uint8Array[] } {
  const times: string[] = [];
  const signatures: Uint8Array[] = [];
  for (const part of header.split(",")) {
    const [, scheme, value = ""] = /^\s*(t|v1)=([0-9a-f]+)\s*$/i.exec(part) ?? [];
    if (scheme === "t") times.push(value);
    else if (scheme === "v1" && value.length === 64) signatures.push(Buffer.from(value, "hex"));
  }
  const [time = ""] = times;
  return { time: times.length === 1 && /^\d{1,12}$/.test(time) ? time : null, signatures };
}

type StripeEvent =
  | { readonly kind: "change"; readonly change: ProviderChange }
  /** Another kind of event, or not about a sale of ours. */
  | { readonly kind: "ignored" }
  | { readonly kind: "malformed" };

type Members = Readonly<Record<string, unknown>>;
type Finding = Omit<ProviderChange, "eventId" | "type" | "createdAt"> | null;

export function readEvent(text: string): StripeEvent {
  const event = parseObject(text, limits.jsonDepthMax);
  if (event === null) return { kind: "malformed" };
  const { id, type, created, data } = event;
  // For example the thin events of the provider's newer API.
  if (event.object !== "event") return { kind: "ignored" };
  const object = isObject(data) ? data.object : null;
  const eventId = typeof id === "string" ? idOf(id) : null;
  if (eventId === null || typeof type !== "string" || !isTime(created) || !isObject(object)) {
    return { kind: "malformed" };
  }
  const finding = readers.get(type)?.(object) ?? null;
  if (finding === null) return { kind: "ignored" };
  const createdAt = new Date(created * 1000).toISOString();
  return { kind: "change", change: { eventId, type, createdAt, ...finding } };
}

type Reader = (object: Members) => Finding;

/** By event type; other types are ignored. */
const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  // Slow payment methods complete the session first and report the payment later.
  [
    "checkout.session.completed",
    (session) => ofSession(session, session.payment_status === "unpaid" ? "incomplete" : "active"),
  ],
  ["checkout.session.async_payment_succeeded", (session) => ofSession(session, "active")],
  ["checkout.session.async_payment_failed", (session) => ofSession(session, "failed")],
  ["checkout.session.expired", (session) => ofSession(session, "expired")],
  ["customer.subscription.created", ofSubscription],
  ["customer.subscription.updated", ofSubscription],
  ["customer.subscription.paused", ofSubscription],
  ["customer.subscription.resumed", ofSubscription],
  [
    "customer.subscription.deleted",
    (subscription) => ofSubscription({ ...subscription, status: "canceled" }),
  ],
  ["invoice.paid", (invoice) => ofInvoice(invoice, "active")],
  // If the first invoice fails, the subscription never starts; if a later one fails, the renewal does.
  [
    "invoice.payment_failed",
    (invoice) =>
      ofInvoice(invoice, invoice.billing_reason === "subscription_create" ? "incomplete" : "past_due"),
  ],
]);

function ofSession(session: Members, state: SubscriptionState): Finding {
  const sessionId = idOf(session.id);
  if (sessionId === null || session.mode !== "subscription") return null;
  return {
    id: reference(session.client_reference_id),
    sessionId,
    subscriptionId: idOf(session.subscription),
    customerId: idOf(session.customer),
    state,
  };
}

function ofSubscription(subscription: Members): Finding {
  const subscriptionId = idOf(subscription.id);
  const state = subscriptionStates.find((known) => known === subscription.status);
  if (subscriptionId === null || state === undefined) return null;
  return {
    id: ofMetadata(subscription),
    sessionId: null,
    subscriptionId,
    customerId: idOf(subscription.customer),
    state,
  };
}

/** An invoice has its subscription under `parent` since API version 2025-03. */
function ofInvoice(invoice: Members, state: SubscriptionState): Finding {
  const parent = isObject(invoice.parent) ? invoice.parent : {};
  const details = isObject(parent.subscription_details)
    ? parent.subscription_details
    : isObject(invoice.subscription_details)
    ? invoice.subscription_details
    : {};
  const subscriptionId = idOf(details.subscription) ?? idOf(invoice.subscription);
  if (subscriptionId === null) return null;
  return {
    id: ofMetadata(details),
    sessionId: null,
    subscriptionId,
    customerId: idOf(invoice.customer),
    state,
  };
}

function ofMetadata({ metadata }: Members): string | null {
  return isObject(metadata) ? reference(metadata.checkout) : null;
}

/** A UUID of ours. */
function reference(value: unknown): string | null {
  const isOurs = typeof value === "string" &&
    /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(value);
  return isOurs ? value : null;
}

/** An id, or the id of an expanded object. */
function idOf(value: unknown): string | null {
  const id = isObject(value) ? value.id : value;
  return typeof id === "string" && /^\w{1,255}$/.test(id) ? id : null;
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 && value < 1e11;
}
