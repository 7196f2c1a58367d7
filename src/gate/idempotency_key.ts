/** Parses the `Idempotency-Key` header, and derives the deduplication key for a post. */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { maskKeys } from "../contract/api_key.ts";
import { limits } from "../contract/limits.ts";
import { decodeUtf8 } from "../http/request_id.ts";
import type { BodyFault } from "../lead/body_fault.ts";
import { lengthDetail } from "../lead/validate.ts";
import type { Entry } from "../store/serving/accept.ts";

/** The parsed header: `bytes` (a string if the value is printable ASCII) is hashed; `text`, with API keys masked, is stored. */
type IdempotencyKey =
  | { readonly kind: "absent" }
  /** The value is too long or contains a control character. */
  | { readonly kind: "too_long"; readonly detail: string }
  | { readonly kind: "repeated" } & BodyFault
  | { readonly kind: "present"; readonly bytes: Uint8Array | string; readonly text: string };

/** A parsed header with which a post can be committed; it may be absent. */
export type UsableIdempotencyKey = Extract<IdempotencyKey, { kind: "absent" | "present" }>;

const printableAscii = /^[\x20-\x7e]*$/;
// deno-lint-ignore no-control-regex -- HTTP forbids control characters, but a runtime may accept them
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Parses the header's lines, which have one character per byte. A blank value counts as absent; repeated lines are
 * refused, even if equal. The length is measured in code points if the value is UTF-8, and in bytes otherwise.
 *
 * Source: SPEC, Limits; DECISIONS, The intake endpoint and Decided since.
 */
export function readIdempotencyKey([value = "", ...further]: readonly string[]): IdempotencyKey {
  if (further.length > 0) {
    return {
      kind: "repeated",
      reason: "repeated_idempotency_key",
      detail: `Idempotency-Key was sent ${further.length + 1} times; send it once`,
    };
  }
  if (value.trim() === "") return { kind: "absent" };
  // A fast path, because nearly all keys are ASCII and decoding costs ten times as much.
  if (value.length <= limits.idempotencyKeyLengthMax && printableAscii.test(value)) {
    return { kind: "present", bytes: value, text: maskKeys(value) };
  }
  const bytes = Buffer.from(value, "latin1");
  const text = decodeUtf8(value) ?? value;
  if ([...text].length > limits.idempotencyKeyLengthMax) {
    return {
      kind: "too_long",
      detail: lengthDetail("Idempotency-Key", text, limits.idempotencyKeyLengthMax),
    };
  }
  if (controlCharacter.test(text)) {
    return { kind: "too_long", detail: "Idempotency-Key contains a control character" };
  }
  return { kind: "present", bytes, text: maskKeys(text) };
}

/** Returns the first 128 bits of the data's SHA-256 in hex; they fit PostgreSQL's `uuid` and halve the index's size. */
export function digest128(data: string | Uint8Array): string {
  return hash("sha256", data, "hex").slice(0, 32);
}

/**
 * Returns a post's deduplication key, which is derived from its `Idempotency-Key` or else from its content; leads and
 * form submissions have separate namespaces.
 */
export function deduplicationKey(
  kind: Entry["kind"],
  key: UsableIdempotencyKey,
  contentDigest: string,
): Pick<Entry, "space" | "digest" | "contentDigest" | "idempotencyKey"> {
  const [keySpace, contentSpace] = kind === "lead" ? ["k", "c"] as const : ["K", "C"] as const;
  return key.kind === "present"
    ? { space: keySpace, digest: digest128(key.bytes), contentDigest, idempotencyKey: key.text }
    : { space: contentSpace, digest: contentDigest, contentDigest, idempotencyKey: null };
}
