/**
 * Which `X-Request-Id` of a caller becomes the request's own.
 *
 * @module
 */

import { Buffer } from "node:buffer";

/** What a caller's request id may be. */
export interface RequestIdRule {
  /** In characters: code points when the bytes are valid UTF-8, else bytes. */
  readonly lengthMax: number;
  /** An id with something of this shape inside is not adopted: a secret put into the wrong header. */
  readonly refused: RegExp | null;
}

const plain = /^[\x20-\x7e]+$/;
// deno-lint-ignore no-control-regex -- control characters are what it looks for
const control = /[\x00-\x1f\x7f]/;
const controlDecoded = /\p{Cc}/u;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads a caller's request id, given as the header has it: one character per byte.
 *
 * The answer is its text, decoded when the bytes are valid UTF-8 and one character per byte when they
 * are not; `null` when it is blank, too long, has a control character, or holds what `rule` refuses.
 * The response header is `sent` itself, so that every byte goes back as it came.
 *
 * Source: SPEC, request headers of the intake; DECISIONS, The intake endpoint.
 */
export function adoptRequestId(sent: string, rule: RequestIdRule): string | null {
  if (plain.test(sent)) return sent.length <= rule.lengthMax && !isRefused(sent, rule) ? sent : null;
  // A character takes at most four bytes: what is longer need not be decoded.
  if (sent === "" || sent.length > 4 * rule.lengthMax || control.test(sent)) return null;
  const decoded = decodeUtf8(sent);
  const text = decoded ?? sent;
  if (controlDecoded.test(text)) return null;
  if (lengthInCodePoints(text) > rule.lengthMax || isRefused(text, rule)) return null;
  return text;
}

/** The text of a string of bytes (one character each) that is valid UTF-8, else `null`. */
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

// Random bytes are drawn for this many ids at once: a draw costs more than the rest of a small answer.
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
