/**
 * Which addresses a webhook may be sent to: public ones, and what the operator allows. A tenant's URL must
 * not become a way into the networks that this process can reach.
 *
 * @module
 */

import { isIP } from "node:net";
import { type Networks, parseNetworks } from "../http/addresses.ts";

// What is not globally reachable unicast, after IANA's registries of special-purpose addresses. What carries an
// IPv4 address inside (NAT64, 6to4, Teredo) is refused whole, whatever it carries: the operator of an IPv6-only
// network allows his own prefix.
const notPublicV4 = parseNetworks(`
  0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
`);
const unicastV6 = parseNetworks("2000::/3");
const notPublicV6 = parseNetworks("2001::/23 2001:db8::/32 2002::/16 3fff::/20");
// IPv4-mapped IPv6 addresses are in it too: they are IPv4 addresses.
const allV4 = parseNetworks("0.0.0.0/0");

/**
 * Whether an address may be connected to. IPv4-mapped IPv6 counts as the IPv4 address that it is; an address
 * with a zone is a local one.
 *
 * Chosen: any port, because the connection sends nothing of a lead before the other side has shown a certificate
 * for the name.
 */
export function mayCall(address: string, allowed: Networks): boolean {
  if (isIP(address) === 0 || address.includes("%")) return false;
  if (allowed.contains(address)) return true;
  if (allV4.contains(address)) return !notPublicV4.contains(address);
  return unicastV6.contains(address) && !notPublicV6.contains(address);
}
