/** Validates listen addresses: which may be public, and which may share a listener. */

import { isIPv6 } from "node:net";
import { isPrivateOrLoopback } from "../http/addresses.ts";
import { type InheritedSockets, socketFaults } from "./inherited.ts";
import type { ListenAddress, ListenPlace } from "./reader.ts";

/** A configured listener. */
export interface Place {
  /** The surface, such as `intake` for `INTAKE_LISTEN` and `INTAKE_URL`. */
  readonly name: string;
  readonly listen: ListenPlace;
  /** The public base URL, or `null` for the listener's own. */
  readonly url: string | null;
}

/** Faults of a process's listeners, one sentence each; sockets are checked if given. */
export function placeFaults(
  places: readonly Place[],
  { isSecure, sockets }: { readonly isSecure: boolean; readonly sockets: InheritedSockets | null },
): string[] {
  const addressFaults = places.flatMap(({ name, listen }) =>
    "socket" in listen || listen.host === ""
      ? []
      : addressFault(variableOf(name), listen, { isOperators: name === "ops", isSecure }) ?? []
  );
  return [
    ...addressFaults,
    ...opsFaults(places),
    ...sharedFaults(places),
    ...sockets === null
      ? []
      : socketFaults(socketsOf(places.map(({ name, listen }) => [variableOf(name), listen])), sockets),
  ];
}

/**
 * The fault of a listener's address, or `null`. For an inherited socket, call it once the listener is open. The operator's
 * listener must not be public.
 */
export function addressFault(
  variable: string,
  { host, port }: ListenAddress,
  { isOperators, isSecure = false }: { readonly isOperators: boolean; readonly isSecure?: boolean },
): string | null {
  if (isPrivateOrLoopback(host)) return null;
  if (isOperators) {
    return `${variable} is a public address (${host}); use a loopback or private address`;
  }
  if (isSecure) {
    // Source: SPEC, Limits (network). On `::` Linux accepts IPv4 too, but its DNS name would have an IPv6 address.
    if (isIPv6(host)) {
      return `${variable} is a public IPv6 address (${host}); the service has an IPv4 address and no other: listen on ` +
        `that, or on 0.0.0.0`;
    }
    return port === 80
      ? `${variable} is port 80 of a public address, where nothing may listen; HTTPS is at port 443`
      : null;
  }
  return `${variable} is a public address (${host}) and there is no certificate: set TLS_CERT_FILE and ` +
    `TLS_KEY_FILE, or listen on a loopback or private address behind an edge`;
}

function opsFaults(places: readonly Place[]): string[] {
  const ops = places.find(({ name }) => name === "ops");
  return places.filter((place) => ops !== undefined && place !== ops && isSame(place.listen, ops.listen))
    .map(({ name }) =>
      `OPS_LISTEN and ${variableOf(name)} are the same address; the operator's listener needs its own`
    );
}

/** Surfaces on one address are distinguished by Host, so each needs its own name. */
function sharedFaults(places: readonly Place[]): string[] {
  const names = new Map<string, string>();
  const open = places.filter(({ name }) => name !== "ops");
  return open.flatMap(({ name, listen, url }) => {
    const shares = open.some((other) => other.name !== name && isSame(other.listen, listen));
    if (!shares) return [];
    if (url === null) {
      return [`${name.toUpperCase()}_URL is not set; surfaces that share an address each need a host name`];
    }
    const host = `${placeText(listen)} ${URL.canParse(url) ? new URL(url).host : url}`;
    const other = names.get(host);
    names.set(host, name);
    return other === undefined
      ? []
      : [`${other.toUpperCase()}_URL and ${name.toUpperCase()}_URL name one host on one address`];
  });
}

/** The variables that name sockets. */
export function socketsOf(
  places: readonly (readonly [variable: string, listen: ListenPlace | null])[],
): (readonly [variable: string, socket: string])[] {
  return places.flatMap(([variable, listen]) =>
    listen !== null && "socket" in listen ? [[variable, listen.socket] as const] : []
  );
}

/**
 * What to listen on: an address, or an inherited socket that {@linkcode socketFaults} has checked.
 */
export function openAt(
  place: ListenPlace,
  sockets: InheritedSockets,
): ListenAddress | { readonly fd: number } {
  if ("host" in place) return place;
  const [fd] = sockets.get(place.socket) ?? [];
  if (fd === undefined) throw new Error(`No socket is called ${place.socket}`);
  return { fd };
}

/** Whether two listeners are the same; port 0 never is. */
export function isSame(one: ListenPlace, other: ListenPlace): boolean {
  const isAnyPort = "port" in one && one.port === 0;
  return !isAnyPort && placeText(one) === placeText(other);
}

/** A listener's address as configured. */
export function placeText(place: ListenPlace): string {
  if ("socket" in place) return `fd:${place.socket}`;
  return `${place.host.includes(":") ? `[${place.host}]` : place.host}:${place.port}`;
}

/** The variable of a surface's listen address. */
export function variableOf(name: string): string {
  return `${name.toUpperCase()}_LISTEN`;
}
