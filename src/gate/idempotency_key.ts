/** The `Idempotency-Key` request header and the deduplication key of a post. */

import { Buffer } from "node:buffer";
import { limits } from "../contract/limits.ts";
import { decodeUtf8 } from "../http/request_id.ts";
import type { BodyFault } from "../lead/body_fault.ts";
import { lengthDetail } from "../lead/validate.ts";
import type { Entry } from "../store/serving/accept.ts";
import { digest128 } from "./post.ts";

/** The parsed header: `bytes` are compared (a string when ASCII), `text` is for display. */
type IdempotencyKey =
  | { readonly kind: "absent" }
  | { readonly kind: "too_long"; readonly detail: string }
  | { readonly kind: "repeated" } & BodyFault
  | { readonly kind: "present"; readonly bytes: Uint8Array | string; readonly text: string };

/** A key that can be committed. */
export type UsableIdempotencyKey = Extract<IdempotencyKey, { kind: "absent" | "present" }>;

const printable = /^[\x20-\x7e]*$/;
// deno-lint-ignore no-control-regex -- HTTP forbids control characters, but a runtime may let them pass
const controls = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Reads the header's lines, one character per byte. A blank value counts as absent; repeated lines are refused, even
 * when equal. The length is in code points for UTF-8, otherwise in bytes.
 *
 * Source: SPEC, Limits; DECISIONS, The intake endpoint and Decided since.
 */
export function readIdempotencyKey([value = "", ...further]: readonly string[]): IdempotencyKey {
  if (further.length > 0) {
    return {
      kind: "repeated",
      reason: "repeated_idempotency_key",
      detail: `Idempotency-Key was sent ${further.length + 1} times; one is needed`,
    };
  }
  if (value.trim() === "") return { kind: "absent" };
  // Nearly all keys are ASCII; decoding and counting costs ten times as much.
  if (value.length <= limits.idempotencyKeyLengthMax && printable.test(value)) {
    return { kind: "present", bytes: value, text: value };
  }
  const bytes = Buffer.from(value, "latin1");
  const text = decodeUtf8(value) ?? value;
  if ([...text].length > limits.idempotencyKeyLengthMax) {
    return {
      kind: "too_long",
      detail: lengthDetail("Idempotency-Key", text, limits.idempotencyKeyLengthMax),
    };
  }
  if (controls.test(text)) {
    return { kind: "too_long", detail: "Idempotency-Key has a control character; none is allowed" };
  }
  return { kind: "present", bytes, text };
}

/** The deduplication key of a post: its Idempotency-Key, or else its content. Leads and forms have separate spaces. */
export function dedupe(
  kind: Entry["kind"],
  key: UsableIdempotencyKey,
  contentDigest: string,
): Pick<Entry, "space" | "digest" | "contentDigest" | "idempotencyKey"> {
  const [byKey, byContent] = kind === "lead" ? ["k", "c"] as const : ["K", "C"] as const;
  return key.kind === "present"
    ? { space: byKey, digest: digest128(key.bytes), contentDigest, idempotencyKey: key.text }
    : { space: byContent, digest: contentDigest, contentDigest, idempotencyKey: null };
}
