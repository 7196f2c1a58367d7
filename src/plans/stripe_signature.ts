/**
 * The `Stripe-Signature` header: HMAC-SHA256 over the time and the body as it came.
 *
 * Source: Stripe, Receive events in your webhook endpoint, "Verify webhook signatures manually".
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";

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
