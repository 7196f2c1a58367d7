/**
 * What an event of Stripe says of a subscription.
 *
 * Source: Stripe, Using webhooks with subscriptions; Fulfill orders; Types of events.
 *
 * @module
 */

import { isObject, parseObject } from "../lead/json.ts";
import { limits } from "../contract/limits.ts";
import {
  type ProviderChange,
  type SubscriptionState,
  subscriptionStates,
} from "../store/serving/checkout.ts";

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
