/**
 * Checks a webhook's signature as its receiver has to.
 *
 * @module
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { WebhookCall } from "./webhook_sink.ts";

// Standard Webhooks leaves the tolerance to the receiver; five minutes are usual.
const toleranceSeconds = 300;

/** What a receiver who has `secret` finds: a sentence for a person. */
export function checkSignature(
  { headers, body }: Pick<WebhookCall, "headers" | "body">,
  { secret, nowMs }: { readonly secret: string; readonly nowMs: number },
): { readonly isGenuine: boolean; readonly text: string } {
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"]
    .map((name) => String(headers[name] ?? ""));
  if (!id || !timestamp || !signatures) return { isGenuine: false, text: "It is not signed." };
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
  const fits = signatures.split(" ").some((signature) => {
    const given = Buffer.from(signature.replace(/^v1,/, ""), "base64");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!fits) return { isGenuine: false, text: "The signature does not fit the body and the secret." };
  if (!(Math.abs(nowMs / 1000 - Number(timestamp)) <= toleranceSeconds)) {
    return {
      isGenuine: false,
      text: "The signature fits, but its timestamp is not of now: a receiver refuses it.",
    };
  }
  return { isGenuine: true, text: "The signature fits the body, the timestamp and the secret." };
}
