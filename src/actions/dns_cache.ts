/** Caches DNS lookups by their TTL. */

import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { LruCache } from "../http/lru_cache.ts";

/** A DNS answer. */
export interface Resolved {
  /** IPv4 first. */
  readonly addresses: readonly string[];
  /** The TTL, or `null` if unknown. */
  readonly ttlMs: number | null;
}

/** Resolves a host name to all addresses; rejects with the resolver's error code. */
export type Resolve = (hostname: string) => Promise<Resolved>;

/** Options of a resolver. */
export interface ResolverOptions {
  /** Name servers, `address:port`. Default: the system's. */
  readonly servers?: readonly string[];
}

/**
 * Timeout and attempts per name server. The timeout grows, so that a silent one is given up after 5 to 7 s.
 */
const questions = { timeout: 2_000, tries: 2 };

/**
 * A resolver that queries the name servers itself.
 *
 * Chosen: getaddrinfo only for unknown names, which may be in the hosts file. It runs on four shared threads, so that one
 * tenant's silent name server would block every tenant's lookups.
 */
export function createResolver(options: ResolverOptions = {}): Resolve {
  return async (hostname) => {
    if (isIP(hostname) !== 0) return { addresses: [hostname], ttlMs: null };
    const resolver = new Resolver(questions);
    if (options.servers !== undefined) resolver.setServers(options.servers);
    const [v4, v6] = await Promise.allSettled([
      resolver.resolve4(hostname, { ttl: true }),
      resolver.resolve6(hostname, { ttl: true }),
    ]);
    const found = [v4, v6].flatMap((answer) => answer.status === "fulfilled" ? answer.value : []);
    if (found.length > 0) {
      return {
        addresses: found.map(({ address }) => address),
        ttlMs: 1000 * Math.min(...found.map(({ ttl }) => ttl)),
      };
    }
    const error = (v4 as PromiseRejectedResult).reason;
    // A failing name server would also fail for getaddrinfo, on one of its four threads.
    if (options.servers !== undefined || !/^(ENOTFOUND|ENODATA|ECONNREFUSED)$/.test(error?.code)) throw error;
    const named = await lookup(hostname, { all: true });
    return { addresses: named.map(({ address }) => address), ttlMs: null };
  };
}

/** A cached name. */
type Known =
  | {
    readonly kind: "found";
    readonly addresses: readonly string[];
    readonly freshUntilMs: number;
    readonly staleUntilMs: number;
  }
  | { readonly kind: "failed"; readonly error: unknown; readonly freshUntilMs: number };

// Cached names, more than there are routes.
const namesMax = 1_000;
/**
 * Bounds of the TTL. Chosen: a burst shares one answer even if the TTL is 0, and a moved webhook is found within a minute.
 */
const ttlMs = { min: 5_000, max: 60_000 };
// Failures are cached briefly, so that a burst causes one query.
const failureMs = 1_000;
/**
 * How long expired addresses are used while the name server fails, and after which delay while it is being queried.
 *
 * Chosen, because the address is probably still right; otherwise the server has no certificate for the name.
 *
 * Source: RFC 8767, 5.
 */
const staleMs = 3_600_000;
const askedMs = 1_000;
const notThere = /^(ENOTFOUND|ENODATA)$/;

/** Caches a resolver's answers and shares concurrent queries for a name. */
export class DnsCache {
  readonly #resolve: Resolve;
  readonly #nowMs: () => number;
  readonly #known = new LruCache<string, Known>(namesMax, () => 1);
  /** Pending queries by name. */
  readonly #asked = new Map<string, Promise<readonly string[]>>();

  /** `nowMs` is monotonic. */
  constructor(resolve: Resolve, nowMs: () => number = () => performance.now()) {
    this.#resolve = resolve;
    this.#nowMs = nowMs;
  }

  /**
   * All addresses of a host name; rejects with the resolver's error. Check at each use whether they are permitted.
   */
  async find(hostname: string): Promise<readonly string[]> {
    const known = this.#known.get(hostname);
    const nowMs = this.#nowMs();
    if (known !== undefined && nowMs < known.freshUntilMs) {
      if (known.kind === "failed") throw known.error;
      return known.addresses;
    }
    const asked = this.#asked.get(hostname) ?? this.#ask(hostname, known);
    if (known?.kind !== "found" || nowMs >= known.staleUntilMs) return await asked;
    return await unlessLate(asked, known.addresses);
  }

  #ask(hostname: string, known: Known | undefined): Promise<readonly string[]> {
    const asked = this.#learn(hostname, known).finally(() => this.#asked.delete(hostname));
    this.#asked.set(hostname, asked);
    // Even if no caller is waiting any more.
    asked.catch(() => {});
    return asked;
  }

  async #learn(hostname: string, known: Known | undefined): Promise<readonly string[]> {
    try {
      const found = await this.#resolve(hostname);
      const keptMs = Math.min(Math.max(found.ttlMs ?? ttlMs.min, ttlMs.min), ttlMs.max);
      const freshUntilMs = this.#nowMs() + keptMs;
      const staleUntilMs = freshUntilMs + staleMs;
      this.#known.put(hostname, { kind: "found", addresses: found.addresses, freshUntilMs, staleUntilMs });
      return found.addresses;
    } catch (error) {
      const nowMs = this.#nowMs();
      const freshUntilMs = nowMs + failureMs;
      const isGone = notThere.test(String((error as { code?: unknown }).code));
      if (!isGone && known?.kind === "found" && nowMs < known.staleUntilMs) {
        this.#known.put(hostname, { ...known, freshUntilMs });
        return known.addresses;
      }
      this.#known.put(hostname, { kind: "failed", error, freshUntilMs });
      throw error;
    }
  }
}

function unlessLate<T>(asked: Promise<T>, standIn: T): Promise<T> {
  return new Promise((settle, reject) => {
    const timer = setTimeout(settle, askedMs, standIn);
    asked.then(settle, reject).finally(() => clearTimeout(timer));
  });
}
