/**
 * What is refused before anything is sent. Returns what is wrong, and `null` when nothing is.
 *
 * @module
 */

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const printable = /^[ -~]*$/;

/** The CRC-32 of IEEE 802.3 in six digits of base62. */
function checksum(text: string): string {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  }
  let rest = (crc ^ 0xffffffff) >>> 0;
  let digits = "";
  for (let place = 0; place < 6; place += 1, rest = Math.floor(rest / 62)) {
    digits = alphabet[rest % 62] + digits;
  }
  return digits;
}

/** What is wrong with a key. */
export function keyFault(key: string | null): string | null {
  if (key === null) return "There is no key";
  if (/^form_(live|test)_/.test(key)) return "This is a forms key, and leads need a key of their own";
  if (!/^lead_(live|test)_/.test(key)) {
    return "This is no key for leads: those start with lead_live_ or lead_test_";
  }
  const whole = /^lead_(live|test)_[0-9A-Za-z]{38}$/.test(key);
  return whole && checksum(key.slice(0, -6)) === key.slice(-6) ? null : "The key is mistyped or cut off";
}

/** What is wrong with an address. */
export function addressFault(address: string | null): string | null {
  const url = URL.parse(address ?? "");
  if (address === null || url === null || !/^https?:\/\//i.test(address)) {
    return "The address is no https:// address";
  }
  if (url.username !== "" || url.password !== "") return "The address must not have a user or a password";
  if (/[?#]/.test(address)) return "The address must not have a query or a fragment";
  const local = url.hostname === "localhost" || url.hostname === "[::1]" ||
    /^127\.\d+\.\d+\.\d+$/.test(url.hostname);
  return url.protocol === "https:" || local ? null : "http:// is taken only to this machine; use https://";
}

/** What is wrong with an idempotency key. */
export function idempotencyKeyFault(key: string): string | null {
  if (key.trim() === "") return "The idempotency key is blank";
  if (key.trim() !== key) return "The idempotency key begins or ends with a blank, which HTTP cuts off";
  if ([...key].length > 200) return "The idempotency key has over 200 characters";
  return printable.test(key) ? null : "The idempotency key is not printable ASCII";
}

/** What is wrong with a request id. */
export function requestIdFault(id: string | null): string | null {
  if (id === null) return null;
  if (id === "" || id.length > 64) return "The request id has to have 1 to 64 characters";
  if (id.trim() !== id) return "The request id begins or ends with a blank, which HTTP cuts off";
  return printable.test(id) ? null : "The request id is not printable ASCII";
}
