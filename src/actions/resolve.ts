/**
 * From a host name to its addresses, by the name servers.
 *
 * @module
 */

import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";

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
