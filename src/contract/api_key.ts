/**
 * Generates and validates API keys. A key consists of a prefix (the surface, and `live` or `test`), 32 random base62
 * characters, and a checksum, which detects typing errors without a query. This module is browser compatible.
 */

/** A surface that requires an API key. */
export type KeySurface = "intake" | "forms";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const randomLength = 32;
const checksumLength = 6;
const keyPattern = /^(lead|form)_(live|test)_[0-9A-Za-z]{38}$/;

/** Matches a string that looks like a key, of any length. */
const keyLikePattern = /^(?:lead|form)_(?:live|test)_[0-9A-Za-z]*$/;

/** Matches a key, or the start of one, anywhere in a string. */
export const keyInText = /(?:lead|form)_(?:live|test)_[0-9A-Za-z]{8}/;

const keysInText = /(?:lead|form)_(?:live|test)_[0-9A-Za-z]{38}/g;

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

/** Returns the CRC-32 (IEEE) of ASCII text as 6 base62 digits. */
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

/** Returns the prefix that names a key's surface and whether it is for tests. */
export function keyPrefix(
  { surface, sandbox }: { readonly surface: KeySurface; readonly sandbox: boolean },
): string {
  return `${surface === "intake" ? "lead" : "form"}_${sandbox ? "test" : "live"}_`;
}

/** Whether a text is a key for the forms of a sandbox tenant, whose submissions are not delivered. */
export function isSandboxFormsKey(text: string): boolean {
  return keySurface(text) === "forms" && text.startsWith(keyPrefix({ surface: "forms", sandbox: true }));
}

/** Generates a key. `fillRandom` must be cryptographically secure. Source: DECISIONS, Keys. */
export function generateKey(
  options: { readonly surface: KeySurface; readonly sandbox: boolean },
  fillRandom: (bytes: Uint8Array) => void,
): string {
  const prefix = keyPrefix(options);
  const bytes = new Uint8Array(64);
  let random = "";
  while (random.length < randomLength) {
    fillRandom(bytes);
    for (const byte of bytes) {
      // Bytes of 248 or more are skipped: 248 is a multiple of 62, so all digits are equally likely.
      if (byte < 248 && random.length < randomLength) random += alphabet[byte % 62];
    }
  }
  return prefix + random + checksum(prefix + random);
}

/** Returns the surface that a key is for; `null` if the format or checksum is wrong. */
export function keySurface(text: string): KeySurface | null {
  if (!keyPattern.test(text)) return null;
  const split = text.length - checksumLength;
  if (checksum(text.slice(0, split)) !== text.slice(split)) return null;
  return text.startsWith("lead_") ? "intake" : "forms";
}

/** Masks the keys in a text as `lead_live_***…`, with their last four characters; the length stays. */
export function maskKeys(text: string): string {
  return text.replace(keysInText, (key) => {
    const shown = key.indexOf("_", 5) + 1;
    return keySurface(key) === null ? key : `${key.slice(0, shown)}${"*".repeat(34)}${key.slice(-4)}`;
  });
}

/** What is wrong with a refused request's key: `detail` is for the caller, `reason` for the log. */
export interface KeyFault {
  readonly detail: string;
  readonly reason: string;
}

const keyFaults = {
  quotes: { detail: "the key is in quotes; send it without them", reason: "key_in_quotes" },
  checksum: {
    detail: "the key's checksum is wrong: a character was lost, added or changed; copy the whole key again",
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
 * Returns why a string cannot be a key for the surface, or `null` if it may be one or does not look like a key at all.
 * Source: DECISIONS, 401.
 */
export function keyFault(text: string, surface: KeySurface): KeyFault | null {
  const unquoted = text.replace(/^["']|["']$/g, "");
  if (!keyLikePattern.test(unquoted)) return null;
  if (unquoted !== text) return keyFaults.quotes;
  const actualSurface = keySurface(text);
  if (actualSurface === null) return keyFaults.checksum;
  return actualSurface === surface ? null : keyFaults[actualSurface];
}
