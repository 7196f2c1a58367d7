/** IP addresses: canonical text, CIDR networks and `X-Forwarded-For`. */

import { BlockList, isIPv4, isIPv6 } from "node:net";

/** Returns an address in canonical form (RFC 5952; IPv4-mapped IPv6 as IPv4), without a zone; `null` if invalid. */
export function canonicalAddress(text: string): string | null {
  if (isIPv4(text)) return text;
  if (!isIPv6(text)) return null;
  const canonical = new URL(`http://[${text.split("%", 1)[0]}]`).hostname.slice(1, -1);
  if (!/^::ffff:[^:]+:[^:]+$/.test(canonical)) return canonical;
  return v6Groups(canonical).slice(6).flatMap(groupBytes).join(".");
}

/** Returns the 4 bytes (also of an IPv4-mapped address) or 16 bytes of an address in network order; `null` if invalid. */
export function addressBytes(text: string): Uint8Array | null {
  const address = canonicalAddress(text);
  if (address === null) return null;
  return Uint8Array.from(
    isIPv4(address) ? address.split(".").map(Number) : v6Groups(address).flatMap(groupBytes),
  );
}

/** Returns the eight 16-bit groups of a canonical IPv6 address in hexadecimal. */
function v6Groups(address: string): string[] {
  const [left = [], right] = address.split("::").map((half) => half === "" ? [] : half.split(":"));
  if (right === undefined) return left;
  return [...left, ...new Array<string>(8 - left.length - right.length).fill("0"), ...right];
}

function groupBytes(group: string): [number, number] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}

export class Networks {
  // One list for each family, because Node finds every IPv4 address in `::/0`.
  readonly #v4 = new BlockList();
  readonly #v6 = new BlockList();

  /** Adds a CIDR network; throws a `RangeError` that quotes an invalid one. */
  add(entry: string): void {
    const [address = "", prefix, ...rest] = entry.split("/");
    const canonical = address.includes("%") ? null : canonicalAddress(address);
    const bitsMax = isIPv4(address) ? 32 : 128;
    const bits = prefix === undefined ? bitsMax : /^\d{1,3}$/.test(prefix) ? Number(prefix) : NaN;
    if (canonical === null || rest.length > 0 || !(bits <= bitsMax)) {
      throw new RangeError(`${JSON.stringify(entry)} is not a network in CIDR notation`);
    }
    // The prefix of an IPv4-mapped network has 96 more bits.
    const v4Bits = bits - bitsMax + 32;
    if (isIPv4(canonical) && v4Bits >= 0) this.#v4.addSubnet(canonical, v4Bits, "ipv4");
    else this.#v6.addSubnet(address, bits, "ipv6");
  }

  /** Whether an address is in the set; `false` for invalid text. */
  contains(address: string): boolean {
    const canonical = canonicalAddress(address);
    if (canonical === null) return false;
    return isIPv4(canonical) ? this.#v4.check(canonical, "ipv4") : this.#v6.check(canonical, "ipv6");
  }
}

/**
 * Parses CIDR networks separated by commas or white space. Ignores host bits, and accepts an address without a prefix.
 * Throws a `RangeError` that quotes the first invalid entry.
 */
export function parseNetworks(list: string): Networks {
  const networks = new Networks();
  for (const entry of list.split(/[\s,]+/)) if (entry !== "") networks.add(entry);
  return networks;
}

const privateNetworks = parseNetworks(
  "127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16 ::1 fc00::/7 fe80::/10",
);

/** Whether an address is `localhost`, loopback, link-local or private (RFC 1918, RFC 4193); `0.0.0.0` is not. */
export function isPrivateOrLoopback(address: string): boolean {
  return address.toLowerCase() === "localhost" || privateNetworks.contains(address);
}

/** Returns a canonical address's rate limit key: for IPv6, the /64 network, which providers assign to one customer. */
export function limiterKey(address: string): string {
  if (!address.includes(":")) return address;
  return `${canonicalAddress(`${v6Groups(address).slice(0, 4).join(":")}::`)}/64`;
}

/**
 * Returns the client behind trusted proxies: the rightmost untrusted address in `X-Forwarded-For`, or the leftmost if
 * all are trusted. Ignores everything left of an invalid entry. `peer` is canonical and trusted.
 */
export function forwardedClient(forwardedFor: string, options: { peer: string; trusted: Networks }): string {
  let client = options.peer;
  const hops = forwardedFor.split(",");
  for (let index = hops.length - 1; index >= 0; index--) {
    const hop = hopAddress((hops[index] as string).trim());
    if (hop === null) return client;
    client = hop;
    if (!options.trusted.contains(hop)) return client;
  }
  return client;
}

/**
 * Returns the canonical address in an entry, or `null`. Proxies write entries in these forms: `192.0.2.1`,
 * `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]:4711`.
 */
function hopAddress(hop: string): string | null {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(hop)?.[1];
  if (bracketed !== undefined) return isIPv6(bracketed) ? canonicalAddress(bracketed) : null;
  return canonicalAddress(/^([\d.]+):\d{1,5}$/.exec(hop)?.[1] ?? hop);
}

const loopback = parseNetworks("127.0.0.0/8, ::1");

/** Whether a URL's host name is `localhost` or a loopback address. */
export function isLoopbackHostname(hostname: string): boolean {
  return hostname === "localhost" || isLoopback(hostname.replace(/^\[(.*)\]$/, "$1"));
}

export function isLoopback(address: string): boolean {
  return loopback.contains(address);
}
