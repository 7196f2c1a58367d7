/**
 * The CRM effect: one signed POST to the tenant's address, as the Standard Webhooks specification says.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import type { CheckedPost } from "./checked_post.ts";
import type { Destination } from "./destination.ts";
import { contentName, type DeliveredEvent } from "./event.ts";

/** Sends webhooks. */
export function crmWebhook(post: CheckedPost): Destination {
  return {
    kind: "crm",
    send({ event, route: { address, secrets }, nowMs, isTest }) {
      const body = webhookBody(event, { isTest });
      const headers = signatureHeaders(event.eventId, body, secrets, nowMs);
      return post.send(address, { tenant: event.tenant, body, headers });
    },
  };
}

/**
 * The body of the webhook. The same event has the same bytes at every attempt. That of a test says so twice: in its type,
 * and with `"test":true` in its data, for whoever looks at that alone.
 *
 * Source: DECISIONS, Delivery (CRM route), and Decided since (Webhook test).
 */
export function webhookBody(event: DeliveredEvent, { isTest }: { readonly isTest: boolean }): string {
  const type = isTest ? "route.test" : event.kind === "lead" ? "lead.accepted" : "form.submitted";
  const text = (value: unknown) => JSON.stringify(value);
  return `{"type":"${type}","timestamp":${text(event.receivedAt)},"data":{` +
    `"event_id":${text(event.eventId)},"tenant":${text(event.tenant)},"source":${text(event.source)},` +
    `"received_at":${text(event.receivedAt)},"${contentName(event.kind)}":${event.content},` +
    `"extra":${event.extra},"flags":${text(event.flags)}${isTest ? ',"test":true' : ""}}}`;
}

/**
 * The three headers of a signed webhook. There is a signature for each secret, so that a receiver that is between
 * two of them verifies with either.
 *
 * Source: Standard Webhooks, Signature scheme.
 */
export function signatureHeaders(
  id: string,
  body: string,
  secrets: readonly string[],
  nowMs: number,
): Readonly<Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}
