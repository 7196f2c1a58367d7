/** Adopts or generates request ids. */

import { Buffer } from "node:buffer";

/** Rules for a caller's request id. */
export interface RequestIdRule {
  /** In code points for UTF-8, otherwise in bytes. */
  readonly lengthMax: number;
  /** Ids that contain this are refused: a secret in the wrong header. */
  readonly refused: RegExp | null;
}

const plain = /^[\x20-\x7e]+$/;
// deno-lint-ignore no-control-regex -- control characters are what it looks for
const control = /[\x00-\x1f\x7f]/;
const controlDecoded = /\p{Cc}/u;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Returns the text of a caller's request id (one character per byte, decoded if UTF-8), or `null` if it is blank, too
 * long, has a control character or breaks `rule`. The response header repeats `sent` byte for byte.
 *
 * Source: SPEC, request headers of the intake; DECISIONS, The intake endpoint.
 */
export function adoptRequestId(sent: string, rule: RequestIdRule): string | null {
  if (plain.test(sent)) return sent.length <= rule.lengthMax && !isRefused(sent, rule) ? sent : null;
  // A character has at most four bytes.
  if (sent === "" || sent.length > 4 * rule.lengthMax || control.test(sent)) return null;
  const decoded = decodeUtf8(sent);
  const text = decoded ?? sent;
  if (controlDecoded.test(text)) return null;
  if (lengthInCodePoints(text) > rule.lengthMax || isRefused(text, rule)) return null;
  return text;
}

/** Decodes a byte string (one character each) as UTF-8, or returns `null`. */
export function decodeUtf8(bytes: string): string | null {
  try {
    return utf8.decode(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
  } catch {
    return null;
  }
}

function lengthInCodePoints(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

function isRefused(text: string, rule: RequestIdRule): boolean {
  return rule.refused !== null && rule.refused.test(text);
}

// Draws random bytes for several ids, because a draw costs more than a small response.
const idsPerDraw = 256;
const idBytes = 12;

/** Makes request ids of 24 hex digits from a CSPRNG that fills arrays. */
export function createRequestIds(fillRandom: (bytes: Uint8Array) => void): () => string {
  const bytes = Buffer.alloc(idsPerDraw * idBytes);
  let next = bytes.length;
  return () => {
    if (next === bytes.length) {
      fillRandom(bytes);
      next = 0;
    }
    next += idBytes;
    return bytes.toString("hex", next - idBytes, next);
  };
}
