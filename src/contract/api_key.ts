/**
 * The text of an API key: a prefix for surface and kind, 32 random base62 characters, and a checksum that rejects
 * typing errors without a query. This module is browser compatible.
 */

/** The two key-gated surfaces. */
export type KeySurface = "intake" | "forms";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const randomLength = 32;
const checksumLength = 6;
const shape = /^(lead|form)_(live|test)_[0-9A-Za-z]{38}$/;

const beginning = /^(?:lead|form)_(?:live|test)_[0-9A-Za-z]*$/;

/** Matches a key, or the start of one. */
export const keyInText = /(?:lead|form)_(?:live|test)_[0-9A-Za-z]{8}/;

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

/** The CRC-32 (IEEE) of ASCII text as 6 base62 digits. */
function checksum(text: string): string {
  let crc = 0xffffffff;
  for (let index = 0; index < text.length; index += 1) {
    crc = (crcTable[(crc ^ text.charCodeAt(index)) & 0xff] as number) ^ (crc >>> 8);
  }
  let rest = (crc ^ 0xffffffff) >>> 0;
  let digits = "";
  for (let place = 0; place < checksumLength; place += 1) {
    digits = (alphabet[rest % 62] as string) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Makes a key; `fillRandom` fills an array from a CSPRNG, several times if necessary. Source: DECISIONS, Keys. */
export function makeKey(
  options: { readonly surface: KeySurface; readonly sandbox: boolean },
  fillRandom: (bytes: Uint8Array) => void,
): string {
  const prefix = `${options.surface === "intake" ? "lead" : "form"}_${options.sandbox ? "test" : "live"}_`;
  const bytes = new Uint8Array(64);
  let random = "";
  while (random.length < randomLength) {
    fillRandom(bytes);
    for (const byte of bytes) {
      // 248 is the largest multiple of 62 below 256: no digit is likelier than another.
      if (byte < 248 && random.length < randomLength) random += alphabet[byte % 62];
    }
  }
  return prefix + random + checksum(prefix + random);
}

/** The surface of a key, or `null` when shape or checksum is wrong. */
export function keySurface(text: string): KeySurface | null {
  if (!shape.test(text)) return null;
  const split = text.length - checksumLength;
  if (checksum(text.slice(0, split)) !== text.slice(split)) return null;
  return text.startsWith("lead_") ? "intake" : "forms";
}

/** Why a request has no usable key: `detail` for the caller, `reason` for the log. */
export interface KeyFault {
  readonly detail: string;
  readonly reason: string;
}

const keyFaults = {
  quotes: { detail: "the key is in quotes; send it without them", reason: "key_in_quotes" },
  checksum: {
    detail: "the key has a wrong checksum: a character was lost, added or changed; copy the whole key again",
    reason: "key_checksum",
  },
  intake: {
    detail: "this is an intake key; a form needs a forms key (form_live_ or form_test_)",
    reason: "intake_key",
  },
  forms: {
    detail: "this is a forms key; the intake needs an intake key (lead_live_ or lead_test_)",
    reason: "forms_key",
  },
} as const satisfies Record<string, KeyFault>;

/**
 * Why a text is not a key of the surface; `null` if only the store knows, and for text unlike a key. Source:
 * DECISIONS, 401.
 */
export function keyFault(text: string, surface: KeySurface): KeyFault | null {
  const bare = text.replace(/^["']|["']$/g, "");
  if (!beginning.test(bare)) return null;
  if (bare !== text) return keyFaults.quotes;
  const found = keySurface(text);
  if (found === null) return keyFaults.checksum;
  return found === surface ? null : keyFaults[found];
}
