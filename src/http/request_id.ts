import { Buffer } from "node:buffer";

export interface RequestIdRule {
  /** The maximum length, in code points if the id is UTF-8 and in bytes otherwise. */
  readonly lengthMax: number;
  /** Matches an id that looks like a secret and must not be logged or echoed. */
  readonly refused: RegExp | null;
}

const printableAscii = /^[\x20-\x7e]+$/;
// deno-lint-ignore no-control-regex -- it matches control characters
const rawControl = /[\x00-\x1f\x7f]/;
const decodedControl = /\p{Cc}/u;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Validates and decodes a caller's request id (`sent` has one character per byte); `null` if it is empty, contains a
 * control character or violates `rule`. The response header echoes `sent` byte for byte.
 *
 * Source: SPEC, request headers of the intake; DECISIONS, The intake endpoint.
 */
export function adoptRequestId(sent: string, rule: RequestIdRule): string | null {
  if (printableAscii.test(sent)) return sent.length <= rule.lengthMax && !isRefused(sent, rule) ? sent : null;
  // A code point has at most four bytes.
  if (sent === "" || sent.length > 4 * rule.lengthMax || rawControl.test(sent)) return null;
  const decoded = decodeUtf8(sent);
  const text = decoded ?? sent;
  if (decodedControl.test(text)) return null;
  if (lengthInCodePoints(text) > rule.lengthMax || isRefused(text, rule)) return null;
  return text;
}

/** Decodes UTF-8 from text with one character per byte; `null` if invalid. */
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

// Random bytes are fetched in batches: a call to the CSPRNG costs more than a small response.
const idsPerFill = 256;
const idBytes = 12;

/** Returns a generator of request ids of 24 hex digits; `fillRandom` fills an array from a CSPRNG. */
export function createRequestIds(fillRandom: (bytes: Uint8Array) => void): () => string {
  const bytes = Buffer.alloc(idsPerFill * idBytes);
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
