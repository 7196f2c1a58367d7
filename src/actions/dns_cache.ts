/** Resolves host names and caches their addresses for their TTL, but at least 5 s and at most 60 s. */

import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { LruCache } from "../http/lru_cache.ts";
import { withFallback } from "../store/wait.ts";

export interface ResolvedName {
  /** The addresses; IPv4 first if they came from the name servers. */
  readonly addresses: readonly string[];
  /** The shortest TTL; `null` if unknown. */
  readonly ttlMs: number | null;
}

/** Resolves a host name to all its addresses; rejects with the resolver's error, which has a `code`. */
export type Resolve = (hostname: string) => Promise<ResolvedName>;

export interface ResolverOptions {
  /** The name servers, `address:port`. Default: the system's. */
  readonly servers?: readonly string[];
}

// The options apply to each name server. The timeout grows with each try, so a silent server fails after 5 to 7 s.
const queryOptions = { timeout: 2_000, tries: 2 };

/**
 * Creates a resolver that queries the name servers itself.
 *
 * Chosen: getaddrinfo is called only for names that the name servers do not resolve, which may be in the hosts file.
 * getaddrinfo runs on four shared threads, so one tenant's silent name server would block every tenant's lookups.
 */
export function createResolver(options: ResolverOptions = {}): Resolve {
  return async (hostname) => {
    if (isIP(hostname) !== 0) return { addresses: [hostname], ttlMs: null };
    const resolver = new Resolver(queryOptions);
    if (options.servers !== undefined) resolver.setServers(options.servers);
    const [v4, v6] = await Promise.allSettled([
      resolver.resolve4(hostname, { ttl: true }),
      resolver.resolve6(hostname, { ttl: true }),
    ]);
    const records = [v4, v6].flatMap((result) => result.status === "fulfilled" ? result.value : []);
    if (records.length > 0) {
      return {
        addresses: records.map(({ address }) => address),
        ttlMs: 1000 * Math.min(...records.map(({ ttl }) => ttl)),
      };
    }
    const error = (v4 as PromiseRejectedResult).reason;
    // If a name server failed, it would fail for getaddrinfo too.
    if (options.servers !== undefined || !/^(ENOTFOUND|ENODATA|ECONNREFUSED)$/.test(error?.code)) throw error;
    const hosts = await lookup(hostname, { all: true });
    return { addresses: hosts.map(({ address }) => address), ttlMs: null };
  };
}

type CachedName =
  | {
    readonly kind: "found";
    readonly addresses: readonly string[];
    readonly freshUntilMs: number;
    readonly staleUntilMs: number;
  }
  | { readonly kind: "failed"; readonly error: unknown; readonly freshUntilMs: number };

const cachedNamesMax = 1_000;
// Chosen: these bounds let a burst of posts share one lookup even if the TTL is 0, and let a changed address take
// effect within a minute.
const ttlBoundsMs = { min: 5_000, max: 60_000 };
// Long enough for a burst of posts to cause only one query.
const failureTtlMs = 1_000;
/**
 * How long expired addresses are used while the name server fails.
 *
 * This is safe: the address is probably still correct, and if not, the server there has no certificate for the name.
 *
 * Source: RFC 8767, 5.
 */
const staleTtlMs = 3_600_000;
// How long to wait for a query before expired addresses are used.
const staleFallbackMs = 1_000;
const noSuchName = /^(ENOTFOUND|ENODATA)$/;

/** Caches a resolver's results, and shares concurrent queries for a name. */
export class DnsCache {
  readonly #resolve: Resolve;
  readonly #nowMs: () => number;
  readonly #cache = new LruCache<string, CachedName>(cachedNamesMax, () => 1);
  readonly #pending = new Map<string, Promise<readonly string[]>>();

  /** `nowMs` must return a monotonic time. */
  constructor(resolve: Resolve, nowMs: () => number = () => performance.now()) {
    this.#resolve = resolve;
    this.#nowMs = nowMs;
  }

  /**
   * Returns all addresses of a host name, including forbidden ones, and expired ones while the name server fails or is
   * slow. Rejects with the resolver's error.
   */
  async lookup(hostname: string): Promise<readonly string[]> {
    const cached = this.#cache.get(hostname);
    const nowMs = this.#nowMs();
    if (cached !== undefined && nowMs < cached.freshUntilMs) {
      if (cached.kind === "failed") throw cached.error;
      return cached.addresses;
    }
    const query = this.#pending.get(hostname) ?? this.#query(hostname, cached);
    if (cached?.kind !== "found" || nowMs >= cached.staleUntilMs) return await query;
    return await withFallback(query, { fallback: cached.addresses, afterMs: staleFallbackMs });
  }

  #query(hostname: string, cached: CachedName | undefined): Promise<readonly string[]> {
    const query = this.#refresh(hostname, cached).finally(() => this.#pending.delete(hostname));
    this.#pending.set(hostname, query);
    // Prevents an unhandled rejection if all callers have given up.
    query.catch(() => {});
    return query;
  }

  async #refresh(hostname: string, cached: CachedName | undefined): Promise<readonly string[]> {
    try {
      const resolved = await this.#resolve(hostname);
      const freshMs = Math.min(Math.max(resolved.ttlMs ?? ttlBoundsMs.min, ttlBoundsMs.min), ttlBoundsMs.max);
      const freshUntilMs = this.#nowMs() + freshMs;
      const staleUntilMs = freshUntilMs + staleTtlMs;
      this.#cache.put(hostname, { kind: "found", addresses: resolved.addresses, freshUntilMs, staleUntilMs });
      return resolved.addresses;
    } catch (error) {
      const nowMs = this.#nowMs();
      const freshUntilMs = nowMs + failureTtlMs;
      const nameDoesNotExist = noSuchName.test(String((error as { code?: unknown }).code));
      if (!nameDoesNotExist && cached?.kind === "found" && nowMs < cached.staleUntilMs) {
        this.#cache.put(hostname, { ...cached, freshUntilMs });
        return cached.addresses;
      }
      this.#cache.put(hostname, { kind: "failed", error, freshUntilMs });
      throw error;
    }
  }
}
