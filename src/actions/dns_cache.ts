/**
 * From a host name to its addresses, by the name servers: each is asked for once in its time and not once a lead.
 *
 * @module
 */

import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { LruCache } from "../http/lru_cache.ts";

/** What a name server says. */
export interface Resolved {
  /** IPv4 first. */
  readonly addresses: readonly string[];
  /** How long it holds; `null` where nobody says. */
  readonly ttlMs: number | null;
}

/** All addresses of a host name. Rejects with the resolver's error code when there is none. */
export type Resolve = (hostname: string) => Promise<Resolved>;

/** What a resolver can be told. */
export interface ResolverOptions {
  /** Name servers, `address:port`; left out: the system's. */
  readonly servers?: readonly string[];
}

/**
 * How long a name server is waited for before it is asked again, and how often in all. The wait grows, so that a silent
 * one is given up after 5 to 7 s.
 */
const questions = { timeout: 2_000, tries: 2 };

/**
 * A resolver that asks the name servers itself.
 *
 * Chosen: not getaddrinfo first, because it runs on four threads that the whole process shares: a few names
 * of one tenant whose name server is silent would hold up every other tenant's look-up. It is asked for names that
 * the name servers do not know, since they may stand in the hosts file.
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
    // A name server that is silent or in trouble would be so for getaddrinfo too, on one of the four threads.
    if (options.servers !== undefined || !/^(ENOTFOUND|ENODATA|ECONNREFUSED)$/.test(error?.code)) throw error;
    const named = await lookup(hostname, { all: true });
    return { addresses: named.map(({ address }) => address), ttlMs: null };
  };
}

/** What is known of a name. */
type Known =
  | {
    readonly kind: "found";
    readonly addresses: readonly string[];
    readonly freshUntilMs: number;
    readonly staleUntilMs: number;
  }
  | { readonly kind: "failed"; readonly error: unknown; readonly freshUntilMs: number };

// More than there are routes at one time; the least recently used is asked for again.
const namesMax = 1_000;
/**
 * A name server's word on how long its answer holds is taken between these. Chosen: a burst shares one answer also where
 * it says 0; and whoever moves his webhook is followed within a minute, whatever it says.
 */
const ttlMs = { min: 5_000, max: 60_000 };
// A failure is hardly kept: long enough that a burst asks once, not so long that anybody waits for it.
const failureMs = 1_000;
/**
 * How long addresses that have had their time stand in while the name server is silent or in trouble, and from when on
 * they do while it is being asked.
 *
 * Chosen: rather than to fail, because the address is most likely still right; if it is not, the other side has no
 * certificate for the name and gets nothing.
 *
 * Source: RFC 8767, 5.
 */
const staleMs = 3_600_000;
const askedMs = 1_000;
const notThere = /^(ENOTFOUND|ENODATA)$/;

/** Remembers what a resolver says, and asks it once for all who want the same name at the same time. */
export class DnsCache {
  readonly #resolve: Resolve;
  readonly #nowMs: () => number;
  readonly #known = new LruCache<string, Known>(namesMax, () => 1);
  /** The questions under way; as many as there are names of requests in flight. */
  readonly #asked = new Map<string, Promise<readonly string[]>>();

  /** `nowMs` never steps back. */
  constructor(resolve: Resolve, nowMs: () => number = () => performance.now()) {
    this.#resolve = resolve;
    this.#nowMs = nowMs;
  }

  /**
   * All addresses of a host name. Rejects with the resolver's error when there is none. Whether they may be called is
   * another question, to be asked at every use.
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
    // Also where nobody waits for it any more.
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
