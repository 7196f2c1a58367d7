/** Validates listen addresses: whether they may be public, and whether surfaces may share a listener. */

import { isIPv6 } from "node:net";
import { isPrivateOrLoopback } from "../http/addresses.ts";
import { type InheritedSockets, socketFaults } from "./inherited.ts";
import type { ListenAddress, ListenTarget } from "./reader.ts";

export interface ConfiguredListener {
  /** The surface, such as `intake` for `INTAKE_LISTEN` and `INTAKE_URL`. */
  readonly name: string;
  readonly listen: ListenTarget;
  /** The public base URL, or `null` for the listener's own. */
  readonly url: string | null;
}

/** Returns the faults in a process's listeners, one sentence each; checks `sockets` unless they are `null`. */
export function listenerFaults(
  listeners: readonly ConfiguredListener[],
  { isSecure, sockets }: { readonly isSecure: boolean; readonly sockets: InheritedSockets | null },
): string[] {
  const addressFaults = listeners.flatMap(({ name, listen }) =>
    "socket" in listen || listen.host === ""
      ? []
      : listenAddressFault(listenVariable(name), listen, { isOperators: name === "ops", isSecure }) ?? []
  );
  const named = namedSockets(listeners.map(({ name, listen }) => [listenVariable(name), listen]));
  return [
    ...addressFaults,
    ...opsFaults(listeners),
    ...sharedFaults(listeners),
    ...sockets === null ? [] : socketFaults(named, sockets),
  ];
}

/**
 * Returns the fault in a listener's address, or `null`; the operator's listener must not be public. The address of an
 * inherited socket is known only when the listener is open.
 */
export function listenAddressFault(
  variable: string,
  { host, port }: ListenAddress,
  { isOperators, isSecure = false }: { readonly isOperators: boolean; readonly isSecure?: boolean },
): string | null {
  if (isPrivateOrLoopback(host)) return null;
  if (isOperators) {
    return `${variable} is a public address (${host}); use a loopback or private address`;
  }
  if (isSecure) {
    // Source: SPEC, Limits (network). `::` also accepts IPv4 on Linux, but the service must have no IPv6 address.
    if (isIPv6(host)) {
      return `${variable} is a public IPv6 address (${host}); the service uses IPv4 only: listen on ` +
        `its IPv4 address, or on 0.0.0.0`;
    }
    return port === 80
      ? `${variable} is port 80 of a public address, which must stay closed; HTTPS uses port 443`
      : null;
  }
  return `${variable} is a public address (${host}) and there is no certificate: set TLS_CERT_FILE and ` +
    `TLS_KEY_FILE, or listen on a loopback or private address behind an edge`;
}

function opsFaults(listeners: readonly ConfiguredListener[]): string[] {
  const ops = listeners.find(({ name }) => name === "ops");
  if (ops === undefined) return [];
  return listeners.filter((other) => other !== ops && isSameTarget(other.listen, ops.listen)).map((
    { name },
  ) => `OPS_LISTEN and ${listenVariable(name)} are the same address; choose another address for OPS_LISTEN`);
}

/** Returns a fault for each public surface that shares an address but has no distinct host name. */
function sharedFaults(listeners: readonly ConfiguredListener[]): string[] {
  const names = new Map<string, string>();
  const publicListeners = listeners.filter(({ name }) => name !== "ops");
  return publicListeners.flatMap(({ name, listen, url }) => {
    const shares = publicListeners.some((other) => other.name !== name && isSameTarget(other.listen, listen));
    if (!shares) return [];
    if (url === null) {
      return [`${name.toUpperCase()}_URL is not set; surfaces that share an address each need a host name`];
    }
    const host = `${targetText(listen)} ${URL.canParse(url) ? new URL(url).host : url}`;
    const other = names.get(host);
    names.set(host, name);
    return other === undefined ? [] : [
      `${other.toUpperCase()}_URL and ${name.toUpperCase()}_URL have the same host and share a listen address`,
    ];
  });
}

/** Returns the variables that are set to an inherited socket, with the socket's name. */
export function namedSockets(
  settings: readonly (readonly [variable: string, listen: ListenTarget | null])[],
): (readonly [variable: string, socket: string])[] {
  return settings.flatMap(([variable, listen]) =>
    listen !== null && "socket" in listen ? [[variable, listen.socket] as const] : []
  );
}

/** Returns the address to listen on, or the inherited socket, which {@linkcode socketFaults} must have checked. */
export function resolveTarget(
  target: ListenTarget,
  sockets: InheritedSockets,
): ListenAddress | { readonly fd: number } {
  if ("host" in target) return target;
  const [fd] = sockets.get(target.socket) ?? [];
  if (fd === undefined) throw new Error(`There is no socket named ${target.socket}`);
  return { fd };
}

/** Whether two listen addresses are the same; an address with port 0 equals no other. */
export function isSameTarget(one: ListenTarget, other: ListenTarget): boolean {
  const isAnyPort = "port" in one && one.port === 0;
  return !isAnyPort && targetText(one) === targetText(other);
}

/** Formats a listener's address as configured. */
export function targetText(target: ListenTarget): string {
  if ("socket" in target) return `fd:${target.socket}`;
  return `${target.host.includes(":") ? `[${target.host}]` : target.host}:${target.port}`;
}

/** Returns the name of the setting for a surface's listen address. */
export function listenVariable(name: string): string {
  return `${name.toUpperCase()}_LISTEN`;
}
