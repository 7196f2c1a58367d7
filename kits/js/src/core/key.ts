/**
 * The text of an API key, checked before it is sent anywhere. This module is browser compatible.
 *
 * @module
 */

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const checksumLength = 6;
const shape = /^lead_(live|test)_[0-9A-Za-z]{38}$/;

/** Why a text cannot be a key of the intake, in words that do not show it; `null` when it can. */
export function faultOfKey(key: unknown): string | null {
  if (typeof key !== "string" || key === "") return "No key was given";
  if (/^form_(live|test)_/.test(key)) {
    return "This is a forms key: leads are posted with a key that begins with lead_live_ or lead_test_";
  }
  if (!/^lead_(live|test)_/.test(key)) {
    return "This is not a key of the lead intake: those begin with lead_live_ or lead_test_";
  }
  const split = key.length - checksumLength;
  if (!shape.test(key) || checksum(key.slice(0, split)) !== key.slice(split)) {
    return "The key is mistyped or cut off: its checksum is wrong";
  }
  return null;
}

/** The CRC-32 (IEEE 802.3) of ASCII text, as six base62 digits, the most significant first. */
function checksum(text: string): string {
  let crc = 0xffffffff;
  for (let index = 0; index < text.length; index += 1) {
    crc ^= text.charCodeAt(index);
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  }
  let rest = (crc ^ 0xffffffff) >>> 0;
  let digits = "";
  for (let place = 0; place < checksumLength; place += 1) {
    digits = alphabet.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
