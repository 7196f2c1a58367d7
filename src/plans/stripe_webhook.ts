/**
 * Handles `POST /api/stripe/webhook`, which receives events about checkouts and subscriptions.
 *
 * Source: Stripe, Receive events in your webhook endpoint; Using webhooks with subscriptions; Types of events.
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
  /** The signing secrets; empty without a payment provider. */
  readonly secrets: readonly string[];
  /** Returns the time in milliseconds since 1970. */
  readonly clockMs: () => number;
  readonly observe: (observation: PlansObservation) => void;
}

// Limits the memory for large bodies to 32 MiB.
const largeBodiesMax = 64;

const received = json(200, { received: true });
const utf8 = new TextDecoder("utf-8");

/**
 * Creates the handler. The signature is the only authentication. After any status other than 2xx, Stripe resends the
 * event for days.
 *
 * Chosen: 200 for unknown events and subscriptions, because a repeat would have no effect either.
 *
 * Source: DECISIONS, Plans, checkout, site.
 */
export function webhookHandler({ store, secrets, clockMs, observe }: WebhookParts): Handler {
  const read = createEventReader();
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

/** Returns a function that reads a body; for a large body, it returns `null` if too many others are being read. */
function createEventReader(): (exchange: Exchange) => Promise<Body | null> {
  let largeBodies = 0;
  return async (exchange) => {
    // Nearly all events are small.
    if (Number(exchange.header("content-length") ?? NaN) <= limits.bodyBytesMax) {
      return await exchange.readBody(limits.bodyBytesMax);
    }
    if (largeBodies >= largeBodiesMax) return null;
    largeBodies += 1;
    try {
      return await exchange.readBody(limits.providerEventBytesMax);
    } finally {
      largeBodies -= 1;
    }
  };
}

interface SignatureRule {
  /** The signing secrets; more than one during a rotation. */
  readonly secrets: readonly string[];
  /** The current time in seconds since 1970. */
  readonly nowSeconds: number;
}

// The tolerance of Stripe's libraries, here also for times in the future.
const toleranceSeconds = 300;

/**
 * Returns whether the header's time is within 5 minutes of now and one of its `v1` signatures is valid for the body
 * under one of the secrets.
 */
export function isSigned(body: Uint8Array, header: string | undefined, rule: SignatureRule): boolean {
  const { time, signatures } = parseHeader(header ?? "");
  if (time === null || Math.abs(rule.nowSeconds - Number(time)) > toleranceSeconds) return false;
  let isFound = false;
  for (const secret of rule.secrets) {
    const expected = createHmac("sha256", secret).update(`${time}.`).update(body).digest();
    // No early exit, so that the duration does not reveal which signature matched.
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
  /** An event that cannot change a subscription. */
  | { readonly kind: "ignored" }
  | { readonly kind: "malformed" };

type Members = Readonly<Record<string, unknown>>;
type ChangeFields = Omit<ProviderChange, "eventId" | "type" | "createdAt"> | null;

export function readEvent(text: string): StripeEvent {
  const event = parseObject(text, limits.jsonDepthMax);
  if (event === null) return { kind: "malformed" };
  const { id, type, created, data } = event;
  // For example, a thin event of Stripe's newer API.
  if (event.object !== "event") return { kind: "ignored" };
  const object = isObject(data) ? data.object : null;
  const eventId = typeof id === "string" ? readId(id) : null;
  if (eventId === null || typeof type !== "string" || !isTime(created) || !isObject(object)) {
    return { kind: "malformed" };
  }
  const fields = readers.get(type)?.(object) ?? null;
  if (fields === null) return { kind: "ignored" };
  const createdAt = new Date(created * 1000).toISOString();
  return { kind: "change", change: { eventId, type, createdAt, ...fields } };
}

type Reader = (object: Members) => ChangeFields;

/** The readers by event type. Events of other types are ignored. */
const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  // With delayed notification payment methods, the session completes before the payment succeeds or fails.
  [
    "checkout.session.completed",
    (session) => readSessionChange(session, session.payment_status === "unpaid" ? "incomplete" : "active"),
  ],
  ["checkout.session.async_payment_succeeded", (session) => readSessionChange(session, "active")],
  ["checkout.session.async_payment_failed", (session) => readSessionChange(session, "failed")],
  ["checkout.session.expired", (session) => readSessionChange(session, "expired")],
  ["customer.subscription.created", readSubscriptionChange],
  ["customer.subscription.updated", readSubscriptionChange],
  ["customer.subscription.paused", readSubscriptionChange],
  ["customer.subscription.resumed", readSubscriptionChange],
  [
    "customer.subscription.deleted",
    (subscription) => readSubscriptionChange({ ...subscription, status: "canceled" }),
  ],
  ["invoice.paid", (invoice) => readInvoiceChange(invoice, "active")],
  // If payment of the first invoice fails, the subscription stays `incomplete` and can still become active; if payment
  // of a later one fails, it is `past_due`.
  [
    "invoice.payment_failed",
    (invoice) =>
      readInvoiceChange(
        invoice,
        invoice.billing_reason === "subscription_create" ? "incomplete" : "past_due",
      ),
  ],
]);

function readSessionChange(session: Members, state: SubscriptionState): ChangeFields {
  const sessionId = readId(session.id);
  if (sessionId === null || session.mode !== "subscription") return null;
  return {
    id: parseCheckoutId(session.client_reference_id),
    sessionId,
    subscriptionId: readId(session.subscription),
    customerId: readId(session.customer),
    state,
  };
}

function readSubscriptionChange(subscription: Members): ChangeFields {
  const subscriptionId = readId(subscription.id);
  const state = subscriptionStates.find((known) => known === subscription.status);
  if (subscriptionId === null || state === undefined) return null;
  return {
    id: metadataReference(subscription),
    sessionId: null,
    subscriptionId,
    customerId: readId(subscription.customer),
    state,
  };
}

/** Reads an invoice, which contains the subscription under `parent` since API version 2025-03. */
function readInvoiceChange(invoice: Members, state: SubscriptionState): ChangeFields {
  const parent = isObject(invoice.parent) ? invoice.parent : {};
  const details = isObject(parent.subscription_details)
    ? parent.subscription_details
    : isObject(invoice.subscription_details)
    ? invoice.subscription_details
    : {};
  const subscriptionId = readId(details.subscription) ?? readId(invoice.subscription);
  if (subscriptionId === null) return null;
  return {
    id: metadataReference(details),
    sessionId: null,
    subscriptionId,
    customerId: readId(invoice.customer),
    state,
  };
}

function metadataReference({ metadata }: Members): string | null {
  return isObject(metadata) ? parseCheckoutId(metadata.checkout) : null;
}

/** Returns a value if it is a UUID, as the ids of sales are; otherwise `null`. */
function parseCheckoutId(value: unknown): string | null {
  const isOurs = typeof value === "string" &&
    /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(value);
  return isOurs ? value : null;
}

/** Returns an id, or the id of an expanded object; `null` if it is malformed. */
function readId(value: unknown): string | null {
  const id = isObject(value) ? value.id : value;
  return typeof id === "string" && /^\w{1,255}$/.test(id) ? id : null;
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 && value < 1e11;
}
