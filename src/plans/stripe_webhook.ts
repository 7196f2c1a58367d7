/**
 * `POST /api/stripe/webhook`: the payment provider says what has become of a checkout.
 *
 * Source: Stripe, Receive events in your webhook endpoint; Using webhooks with subscriptions; Fulfill orders; Types of events.
 *
 * @module
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

/** What the handler works with. */
export interface WebhookParts {
  readonly store: CheckoutStore;
  /** Empty when there is no provider. */
  readonly secrets: readonly string[];
  /** The time of day in milliseconds since 1970. */
  readonly clockMs: () => number;
  readonly observe: (observation: PlansObservation) => void;
}

// 32 MiB together.
const largeOnesMax = 64;

const received = json(200, { received: true });
const utf8 = new TextDecoder("utf-8");

/**
 * The handler. Whoever has the secret is the provider: neither origin nor address counts. A 2xx ends an event; after
 * anything else the provider sends it again, for days.
 *
 * Source: DECISIONS, Plans, checkout, site. Chosen: 200 for an event of a kind or a subscription that is not known
 * here, because sending it again would not change that.
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
 * Reads an event's body; `null` when too many large ones are on their way. Whose an event is, is known when all of it
 * is there: without a bound of their own strangers could make us hold half a megabyte a connection.
 */
function eventReader(): (exchange: Exchange) => Promise<Body | null> {
  let largeOnes = 0;
  return async (exchange) => {
    // Nearly every event is that small, and says so.
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

/** What a signature is checked with. */
interface SignatureRule {
  /** Several while a secret is being rolled. */
  readonly secrets: readonly string[];
  /** Seconds since 1970, by this machine's clock. */
  readonly nowSeconds: number;
}

// As the provider's own libraries have it. Chosen: into the future too, because a time from there is no more to be
// believed than an old one.
const toleranceSeconds = 300;

/**
 * Whether the header has a signature of these bytes by one of the secrets, made within five minutes of now.
 *
 * `header` is `t=1700000000,v1=…,v1=…`, in any order; other schemes than `v1` do not count.
 */
export function isSigned(body: Uint8Array, header: string | undefined, rule: SignatureRule): boolean {
  const { time, signatures } = parseHeader(header ?? "");
  if (time === null || Math.abs(rule.nowSeconds - Number(time)) > toleranceSeconds) return false;
  let isFound = false;
  for (const secret of rule.secrets) {
    const expected = createHmac("sha256", secret).update(`${time}.`).update(body).digest();
    // All of them, so that the time it takes does not tell which one it was.
    for (const signature of signatures) if (timingSafeEqual(expected, signature)) isFound = true;
  }
  return isFound;
}

/** `time` is `null` unless there is exactly one. */
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

/** The outcome of {@linkcode readEvent}. */
type StripeEvent =
  | { readonly kind: "change"; readonly change: ProviderChange }
  /** An event of another kind, or about something that was not sold here. */
  | { readonly kind: "ignored" }
  | { readonly kind: "malformed" };

type Members = Readonly<Record<string, unknown>>;
type Finding = Omit<ProviderChange, "eventId" | "type" | "createdAt"> | null;

/** Reads an event whose signature is right. */
export function readEvent(text: string): StripeEvent {
  const event = parseObject(text, limits.jsonDepthMax);
  if (event === null) return { kind: "malformed" };
  const { id, type, created, data } = event;
  // Such as the thin events of the provider's newer interface.
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

/** By type of event; what is not here is ignored. */
const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  // Payment methods that take days complete the session first and tell of the money later.
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
  // Of the first invoice it is the beginning that has failed, of a later one the renewal.
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

/** Since the version of March 2025 an invoice has its subscription under `parent`, before it had it by itself. */
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

/** Our reference, if it has its shape. */
function reference(value: unknown): string | null {
  const isOurs = typeof value === "string" &&
    /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(value);
  return isOurs ? value : null;
}

/** The id of an object that may stand there whole. */
function idOf(value: unknown): string | null {
  const id = isObject(value) ? value.id : value;
  return typeof id === "string" && /^\w{1,255}$/.test(id) ? id : null;
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 && value < 1e11;
}
