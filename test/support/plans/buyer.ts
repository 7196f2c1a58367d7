/** Plays a storefront's browser and the payment provider's webhook. */

import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { type Answer, freshAddress, type RequestOptions, send } from "../client.ts";
import type { RunningServer } from "../server.ts";

/** The origin that the tests' servers allow. */
export const storefront = "https://shop.example";
/** The webhook secrets of the tests' servers; the second one is being rotated in. */
export const webhookSecrets = ["whsec_first", "whsec_second"] as const;

/** Returns the settings of a server with a working checkout at the provider `stripeUrl`. */
export function checkoutSettings(stripeUrl: string, secretKey: string): Record<string, string> {
  return {
    CHECKOUT_ORIGINS: `${storefront},https://www.shop.example:8443`,
    CHECKOUT_SUCCESS_URL: `${storefront}/thanks?session={CHECKOUT_SESSION_ID}`,
    CHECKOUT_CANCEL_URL: `${storefront}/plans`,
    STRIPE_SECRET_KEY: secretKey,
    STRIPE_WEBHOOK_SECRET: webhookSecrets.join(","),
    STRIPE_API_URL: stripeUrl,
  };
}

/** An email address that must not appear in any log or table. */
export const buyerEmail = "zmarker.buyer@example.com";

/** Posts a checkout from a fresh address and checks what all responses have in common. */
export async function checkout(
  server: RunningServer,
  options: RequestOptions & { origin?: string | null } = {},
) {
  const { origin = storefront, ...rest } = options;
  const answer = await send(`${server.urls.subscription}/api/checkout/sessions`, {
    method: "POST",
    localAddress: freshAddress(),
    body: { plan: "basic", email: buyerEmail },
    ...rest,
    headers: {
      "Content-Type": "application/json",
      ...(origin === null ? {} : { "Origin": origin }),
      ...rest.headers,
    },
  });
  assert.ok(answer.headers["x-request-id"]);
  assert.match(String(answer.headers.vary), /Origin/);
  if (answer.status === 204) return answer;
  assert.equal(answer.headers["cache-control"], "no-store");
  assert.equal(answer.headers["content-type"], "application/json");
  if (answer.status >= 400) assert.equal(answer.json.request_id, answer.headers["x-request-id"]);
  assert.doesNotMatch(answer.text, /sk_test|whsec|Invalid API Key|postgres/);
  return answer;
}

/** Returns an unused idempotency key. */
export function freshCheckoutKey(): { "Idempotency-Key": string } {
  return { "Idempotency-Key": randomBytes(16).toString("hex") };
}

/** The overridable members of an event. */
export interface EventOptions {
  readonly id?: string;
  /** Seconds since 1970. */
  readonly created?: number;
}

/** Returns the text of an event. */
export function eventText(type: string, object: object, options: EventOptions = {}): string {
  return JSON.stringify({
    id: options.id ?? `evt_${randomBytes(12).toString("hex")}`,
    object: "event",
    api_version: "2026-08-26.dahlia",
    created: options.created ?? Math.floor(Date.now() / 1000),
    data: { object },
    livemode: false,
    pending_webhooks: 1,
    type,
  });
}

/** Returns the signature header for a body. */
export function signature(
  body: string,
  { secret = webhookSecrets[0], time = Math.floor(Date.now() / 1000) }: { secret?: string; time?: number } =
    {},
): string {
  return `t=${time},v1=${createHmac("sha256", secret).update(`${time}.${body}`).digest("hex")}`;
}

/** Sends an event, correctly signed by default. */
export function deliver(server: RunningServer, body: string, header = signature(body)): Promise<Answer> {
  return send(`${server.urls.subscription}/api/stripe/webhook`, {
    method: "POST",
    body,
    headers: { "Content-Type": "application/json; charset=utf-8", "Stripe-Signature": header },
  });
}
