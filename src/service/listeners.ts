/** Opens the listeners of all surfaces: surfaces on one address share a listener and are told apart by Host. */

import { randomFillSync } from "node:crypto";
import type { Config } from "../settings/config.ts";
import { addressFault, isSame, openAt, variableOf } from "../settings/places.ts";
import { keyInText } from "../contract/api_key.ts";
import { unreadErrors } from "../contract/errors.ts";
import { limits } from "../contract/limits.ts";
import type { Reply } from "../http/exchange.ts";
import type { Listener, RefusalStatus, Surface } from "../http/options.ts";
import { json } from "../http/reply.ts";
import { createRequestIds } from "../http/request_id.ts";
import { listen } from "../http/node/listen.ts";
import type { Observe } from "../observe/observation.ts";
import { ConfigError, type ListenAddress, type ListenPlace } from "../settings/reader.ts";

/** A surface and its listen address. */
export interface PlacedSurface {
  readonly surface: Surface;
  readonly listen: ListenPlace;
  /** Plain HTTP, and nothing but the surface's own hosts: the operator's listener. */
  readonly isPrivate: boolean;
}

/** Listeners that accept connections. */
export interface Listeners {
  /** The listener's own address of each surface, by its name. */
  readonly urls: ReadonlyMap<string, string>;
  /** Closes them all at once; see {@linkcode Listener.close}. */
  close(graceMs: number): Promise<void>;
}

/** Options of {@linkcode listenAll}. */
export interface ListenAllOptions {
  readonly config: Config;
  readonly observe: Observe;
}

/** Opens all listeners, or none: if an address is unavailable, closes those already open. */
export async function listenAll(
  placed: readonly PlacedSurface[],
  options: ListenAllOptions,
): Promise<Listeners> {
  const open: { listener: Listener; group: readonly PlacedSurface[] }[] = [];
  const close = async (graceMs: number) => {
    await Promise.all(open.map(({ listener }) => listener.close(graceMs)));
  };
  for (const group of byAddress(placed)) {
    try {
      open.push({ listener: await openListener(group, options), group });
    } catch (error) {
      await close(0);
      if (error instanceof ConfigError) throw error;
      // Deno's error does not name the address.
      const { listen } = group[0] as PlacedSurface;
      const where = "socket" in listen
        ? { address: `fd:${listen.socket}` }
        : { address: listen.host, port: listen.port };
      throw Object.assign(error as Error, where);
    }
  }
  const urls = new Map(
    open.flatMap(({ listener, group }) =>
      group.map(({ surface, isPrivate }) =>
        [surface.name, urlOf(listener, isPrivate, options.config)] as const
      )
    ),
  );
  for (const [surface, url] of urls) options.observe({ kind: "listening", surface, url });
  return { urls, close };
}

function byAddress(placed: readonly PlacedSurface[]): PlacedSurface[][] {
  const groups: PlacedSurface[][] = [];
  for (const one of placed) {
    const group = groups.find(([first]) => first !== undefined && isSame(first.listen, one.listen));
    if (group === undefined) groups.push([one]);
    else group.push(one);
  }
  return groups;
}

function openListener(
  group: readonly PlacedSurface[],
  { config, observe }: ListenAllOptions,
): Promise<Listener> {
  const [{ listen: place, isPrivate }] = group as [PlacedSurface];
  return listen({
    address: openAt(place, config.sockets),
    requireAddress: (address) => {
      const rule = { isOperators: isPrivate, isSecure: config.tls !== null };
      const faults = group.flatMap(({ surface }) =>
        addressFault(variableOf(surface.name), address, rule) ?? []
      );
      if (faults.length > 0) throw new ConfigError(faults);
    },
    surfaces: group.map(({ surface }) => surface),
    strictHost: isPrivate || group.length > 1,
    tls: isPrivate ? null : config.tls,
    trustedProxies: config.trustedProxies,
    connectionsPerAddress: config.connectionsPerAddress,
    requestId: {
      lengthMax: limits.requestIdLengthMax,
      refused: keyInText,
      generate: createRequestIds((bytes) => randomFillSync(bytes)),
    },
    refuse: refuseUnread,
    observe,
    bounds: { requestTimeoutMs: limits.requestTimeoutMs },
  });
}

function urlOf(listener: Listener, isPrivate: boolean, config: Config): string {
  return addressUrl(listener, config.tls !== null && !isPrivate);
}

/** The base URL of a listener. */
export function addressUrl({ host, port }: ListenAddress, isSecure: boolean): string {
  return `${isSecure ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The response to a request that reaches no surface: the intake's error body, with the nearest code. */
function refuseUnread(status: RefusalStatus, requestId: string): Reply {
  const { code, condition } = unreadErrors[status];
  const said = status === 400 ? { detail: condition.replaceAll("`", "") } : {};
  return json(status, { error: code, request_id: requestId, ...said });
}
