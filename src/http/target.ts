import type { Exchange } from "./exchange.ts";

interface Target {
  readonly path: string;
  readonly query: string;
  /** The authority of an absolute-form target, which overrides `Host` (RFC 9112, section 3.2.2). */
  readonly authority: string | null;
}

/** Parses the origin form (`/v1/intake?x`) or absolute form (`http://host/v1/intake`); other forms match no route. */
export function parseTarget(target: string): Target {
  const absolute = target.startsWith("/") ? null : /^https?:\/\/([^/?#]*)/i.exec(target);
  const rest = absolute === null ? target : target.slice(absolute[0].length);
  const queryStart = rest.indexOf("?");
  const path = queryStart === -1 ? rest : rest.slice(0, queryStart);
  return {
    path: path === "" && absolute !== null ? "/" : path,
    query: queryStart === -1 ? "" : rest.slice(queryStart + 1),
    authority: absolute?.[1] ?? null,
  };
}

const hostPattern = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._~!$&'()*+;=%-]+)(?::\d{1,5})?$/i;

/** Whether text is a host with an optional port (RFC 9110, section 7.2), without commas. */
export function isHost(text: string): boolean {
  return hostPattern.test(text);
}

export class Hosts<T extends { readonly name: string; readonly hosts: readonly string[] }> {
  readonly #owners = new Map<string, T>();
  readonly #fallback: T | null;

  /** Unless `strict`, the only owner serves every host. Throws a `TypeError` if a host is invalid or has two owners. */
  constructor(owners: readonly T[], options: { strict: boolean }) {
    for (const owner of owners) {
      for (const host of owner.hosts) {
        const key = host.toLowerCase();
        if (!isHost(key)) throw new TypeError(`${JSON.stringify(host)} is not a host`);
        const other = this.#owners.get(key);
        if (other !== undefined && other !== owner) {
          throw new TypeError(`The host ${host} belongs to both ${other.name} and ${owner.name}`);
        }
        this.#owners.set(key, owner);
      }
    }
    if (!options.strict && owners.length !== 1) {
      throw new TypeError("Without strict host checking, there must be exactly one surface");
    }
    this.#fallback = options.strict ? null : owners[0] as T;
  }

  /** Returns the owner of `host[:port]`, or `null`; an entry with the port takes precedence. */
  find(host: string | undefined): T | null {
    if (this.#fallback !== null) return this.#fallback;
    if (host === undefined) return null;
    const key = host.toLowerCase();
    return this.#owners.get(key) ?? this.#owners.get(key.replace(/\.?(?::\d+)?$/, "")) ?? null;
  }
}

/**
 * Whether a page from the same origin sent the request. Compares `Origin`, if sent, with the request's host, ignoring the
 * scheme, because a proxy may terminate TLS. All current browsers send `Origin` or `Sec-Fetch-Site`.
 */
export function isSameOrigin(exchange: Exchange): boolean {
  const site = exchange.header("sec-fetch-site");
  if (site !== undefined && site !== "same-origin") return false;
  const origin = exchange.header("origin");
  if (origin === undefined) return site === "same-origin";
  const { host } = exchange;
  return host !== undefined && /^https?:\/\/(.+)$/.exec(origin)?.[1]?.toLowerCase() === host.toLowerCase();
}
