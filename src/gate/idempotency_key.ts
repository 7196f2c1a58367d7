/**
 * The `Idempotency-Key` request header, and what makes a post a duplicate.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { limits } from "../contract/limits.ts";
import { decodeUtf8 } from "../http/request_id.ts";
import type { BodyFault } from "../lead/body_fault.ts";
import type { Entry } from "../store/serving/accept.ts";
import { digest128 } from "./post.ts";

/** What the header says. `bytes`, as text where they are ASCII, are compared, `text` is for people. */
type IdempotencyKey =
  | { readonly kind: "absent" }
  | { readonly kind: "too_long" }
  | { readonly kind: "repeated" } & BodyFault
  | { readonly kind: "present"; readonly bytes: Uint8Array | string; readonly text: string };

/** A key that a post can be committed with. */
export type UsableIdempotencyKey = Extract<IdempotencyKey, { kind: "absent" | "present" }>;

const printable = /^[\x20-\x7e]*$/;
// deno-lint-ignore no-control-regex -- header values may not hold them, but a runtime might let them pass
const controls = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Reads the header's lines, one character per byte as sent. A blank value counts as absent. The length is counted in
 * code points where the bytes are UTF-8, in bytes otherwise. Of several lines none is believed, be they alike: which
 * of them the caller will repeat is not to be known.
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
  // Of ASCII alone, as nearly all are, the text is the bytes: decoding and counting it costs ten times as much.
  if (value.length <= limits.idempotencyKeyLengthMax && printable.test(value)) {
    return { kind: "present", bytes: value, text: value };
  }
  const bytes = Buffer.from(value, "latin1");
  const text = decodeUtf8(value) ?? value;
  if (controls.test(text) || [...text].length > limits.idempotencyKeyLengthMax) return { kind: "too_long" };
  return { kind: "present", bytes, text };
}

/**
 * What makes a later post a duplicate: its Idempotency-Key, or without one its content. Each is a space of its own;
 * leads and form submissions have theirs apart.
 */
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
