/**
 * The `Idempotency-Key` request header.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { limits } from "../contract/limits.ts";
import { decodeUtf8 } from "../http/request_id.ts";

/** What the header says. `bytes` are compared, `text` is for people. */
export type IdempotencyKey =
  | { readonly kind: "absent" }
  | { readonly kind: "too_long" }
  | { readonly kind: "present"; readonly bytes: Uint8Array; readonly text: string };

// deno-lint-ignore no-control-regex -- header values may not hold them, but a runtime might let them pass
const controls = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Reads the header's value, one character per byte as sent. A blank one counts as absent. The length is
 * counted in code points where the bytes are UTF-8, in bytes otherwise.
 *
 * Source: SPEC, Limits; DECISIONS, The intake endpoint.
 */
export function readIdempotencyKey(value: string | undefined): IdempotencyKey {
  if (value === undefined || value.trim() === "") return { kind: "absent" };
  const bytes = Buffer.from(value, "latin1");
  const text = decodeUtf8(value) ?? value;
  if (controls.test(text) || [...text].length > limits.idempotencyKeyLengthMax) return { kind: "too_long" };
  return { kind: "present", bytes, text };
}
