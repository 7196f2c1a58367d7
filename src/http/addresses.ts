/** IP addresses: canonical text, CIDR networks and `X-Forwarded-For`. */

import { isIPv4, isIPv6 } from "node:net";

/** The eight 16-bit groups of an IPv6 address; IPv4 is mapped to IPv6. */
type Groups = readonly number[];

interface Network {
  readonly groups: Groups;
  readonly prefixBits: number;
  readonly isV4: boolean;
}

/** Returns an address in canonical form (RFC 5952; IPv4-mapped IPv6 as IPv4), without a zone; `null` if invalid. */
export function canonicalAddress(text: string): string | null {
  const groups = parseAddress(text);
  return groups === null ? null : formatAddress(groups);
}

/** Returns the 4 or 16 bytes of an address in network order; `null` if invalid. */
export function addressBytes(text: string): Uint8Array | null {
  const groups = parseAddress(text);
  if (groups === null) return null;
  return Uint8Array.from(
    (isIPv4(text) ? groups.slice(6) : groups).flatMap((group) => [group >> 8, group & 0xff]),
  );
}

export class Networks {
  readonly #networks: readonly Network[];

  constructor(networks: readonly Network[]) {
    this.#networks = networks;
  }

  get isEmpty(): boolean {
    return this.#networks.length === 0;
  }

  /** Whether an address is in the set; `false` for invalid text. */
  contains(address: string): boolean {
    if (this.isEmpty) return false;
    const groups = parseAddress(address);
    if (groups === null) return false;
    const isV4 = isV4Mapped(groups);
    return this.#networks.some((network) => network.isV4 === isV4 && isWithin(groups, network));
  }
}

/**
 * Parses CIDR networks separated by commas or white space. Ignores host bits, and accepts an address without a prefix.
 * Throws a `RangeError` that quotes the first invalid entry.
 */
export function parseNetworks(list: string): Networks {
  return new Networks(list.split(/[\s,]+/).filter((entry) => entry !== "").map(parseNetwork));
}

function parseNetwork(entry: string): Network {
  const [address = "", prefix, ...rest] = entry.split("/");
  const groups = parseAddress(address);
  const isV4 = isIPv4(address);
  const bitsMax = isV4 ? 32 : 128;
  const bits = prefix === undefined ? bitsMax : /^\d{1,3}$/.test(prefix) ? Number(prefix) : NaN;
  if (groups === null || rest.length > 0 || !(bits <= bitsMax) || address.includes("%")) {
    throw new RangeError(`${JSON.stringify(entry)} is not a network in CIDR notation`);
  }
  const prefixBits = isV4 ? bits + 96 : bits;
  return { groups, prefixBits, isV4: isV4Mapped(groups) && prefixBits >= 96 };
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
  const groups = parseAddress(address);
  return groups === null ? address : `${formatAddress([...groups.slice(0, 4), 0, 0, 0, 0])}/64`;
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

function parseAddress(text: string): Groups | null {
  if (isIPv4(text)) return [0, 0, 0, 0, 0, 0xffff, ...parseDottedGroups(text)];
  if (!isIPv6(text)) return null;
  let address = text.split("%", 1)[0] as string;
  const dotted = address.slice(address.lastIndexOf(":") + 1);
  if (dotted.includes(".")) {
    const [high, low] = parseDottedGroups(dotted);
    address = `${address.slice(0, -dotted.length)}${high.toString(16)}:${low.toString(16)}`;
  }
  const [left = "", right] = address.split("::");
  const before = parseHexGroups(left);
  if (right === undefined) return before;
  const after = parseHexGroups(right);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function parseDottedGroups(dotted: string): [number, number] {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number);
  return [a * 256 + b, c * 256 + d];
}

function parseHexGroups(text: string): number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}

function isV4Mapped(groups: Groups): boolean {
  return groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
}

function isWithin(groups: Groups, network: Network): boolean {
  for (let index = 0, bits = network.prefixBits; bits > 0; index++, bits -= 16) {
    const mask = bits >= 16 ? 0xffff : (0xffff << (16 - bits)) & 0xffff;
    if (((groups[index] as number) & mask) !== ((network.groups[index] as number) & mask)) return false;
  }
  return true;
}

function formatAddress(groups: Groups): string {
  if (isV4Mapped(groups)) {
    return groups.slice(6).map((group) => `${group >> 8}.${group & 0xff}`).join(".");
  }
  const { start, length } = longestZeroRun(groups);
  const hex = groups.map((group) => group.toString(16));
  if (length < 2) return hex.join(":");
  return `${hex.slice(0, start).join(":")}::${hex.slice(start + length).join(":")}`;
}

function longestZeroRun(groups: Groups): { start: number; length: number } {
  let longest = { start: 0, length: 0 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > longest.length) longest = { start, length };
  }
  return longest;
}

const loopback = parseNetworks("127.0.0.0/8, ::1");

/** Whether a URL's host name is `localhost` or a loopback address. */
export function isLoopbackHostname(hostname: string): boolean {
  return hostname === "localhost" || isLoopback(hostname.replace(/^\[(.*)\]$/, "$1"));
}

export function isLoopback(address: string): boolean {
  return loopback.contains(address);
}
