/**
 * Opens the surfaces' listeners. Surfaces on one address share a listener, which selects the surface by the Host
 * header.
 */

import { randomFillSync } from "node:crypto";
import type { Config } from "../settings/config.ts";
import {
  isSameTarget,
  listenAddressFault,
  listenVariable,
  resolveTarget,
} from "../settings/listen_targets.ts";
import { keyInText } from "../contract/api_key.ts";
import { unreadErrors } from "../contract/errors.ts";
import { limits } from "../contract/limits.ts";
import type { Reply } from "../http/exchange.ts";
import type { Listener, RefusalStatus, Surface } from "../http/options.ts";
import { json } from "../http/reply.ts";
import { createRequestIds } from "../http/request_id.ts";
import { listen } from "../http/node/listen.ts";
import type { Observe } from "../observe/observation.ts";
import { ConfigError, type ListenAddress, type ListenTarget } from "../settings/reader.ts";

export interface ListeningSurface {
  readonly surface: Surface;
  readonly listen: ListenTarget;
  /** Whether this is the operator's surface, which is served over plain HTTP and only under its own host names. */
  readonly isPrivate: boolean;
}

export interface Listeners {
  /** The URL of each surface's listener, by surface name. */
  readonly urls: ReadonlyMap<string, string>;
  /** Closes all listeners in parallel; see {@linkcode Listener.close}. */
  close(graceMs: number): Promise<void>;
}

export interface ListenAllOptions {
  readonly config: Config;
  readonly observe: Observe;
}

/** Opens all listeners, or none; if an address is unavailable, closes the listeners that it opened. */
export async function listenAll(
  surfaces: readonly ListeningSurface[],
  options: ListenAllOptions,
): Promise<Listeners> {
  const open: { listener: Listener; group: readonly ListeningSurface[] }[] = [];
  const close = async (graceMs: number) => {
    await Promise.all(open.map(({ listener }) => listener.close(graceMs)));
  };
  for (const group of groupByAddress(surfaces)) {
    try {
      open.push({ listener: await openListener(group, options), group });
    } catch (error) {
      await close(0);
      if (error instanceof ConfigError) throw error;
      // Deno's error does not name the address.
      const { listen } = group[0] as ListeningSurface;
      const where = "socket" in listen
        ? { address: `fd:${listen.socket}` }
        : { address: listen.host, port: listen.port };
      throw Object.assign(error as Error, where);
    }
  }
  const urls = new Map(
    open.flatMap(({ listener, group }) =>
      group.map(({ surface, isPrivate }) =>
        [surface.name, addressUrl(listener, options.config.tls !== null && !isPrivate)] as const
      )
    ),
  );
  for (const [surface, url] of urls) options.observe({ kind: "listening", surface, url });
  return { urls, close };
}

function groupByAddress(surfaces: readonly ListeningSurface[]): ListeningSurface[][] {
  const groups: ListeningSurface[][] = [];
  for (const next of surfaces) {
    const group = groups.find(([first]) => first !== undefined && isSameTarget(first.listen, next.listen));
    if (group === undefined) groups.push([next]);
    else group.push(next);
  }
  return groups;
}

function openListener(
  group: readonly ListeningSurface[],
  { config, observe }: ListenAllOptions,
): Promise<Listener> {
  const [{ listen: target, isPrivate }] = group as [ListeningSurface];
  return listen({
    address: resolveTarget(target, config.sockets),
    requireAddress: (address) => {
      const rule = { isOperators: isPrivate, isSecure: config.tls !== null };
      const faults = group.flatMap(({ surface }) =>
        listenAddressFault(listenVariable(surface.name), address, rule) ?? []
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

export function addressUrl({ host, port }: ListenAddress, isSecure: boolean): string {
  return `${isSecure ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Renders the response to a request that reaches no surface: the intake's error body, with the closest code. */
function refuseUnread(status: RefusalStatus, requestId: string): Reply {
  const { code, condition } = unreadErrors[status];
  const extra = status === 400 ? { detail: condition.replaceAll("`", "") } : {};
  return json(status, { error: code, request_id: requestId, ...extra });
}
