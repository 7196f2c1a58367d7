/**
 * From a host name to its addresses.
 *
 * @module
 */

import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";

/** All addresses of a host name, IPv4 first. Rejects with the resolver's error code when there is none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** What a resolver can be told. */
export interface ResolverOptions {
  /** Name servers, `address:port`; left out: the system's. */
  readonly servers?: readonly string[];
}

/**
 * A resolver that asks the name servers itself.
 *
 * Chosen: not getaddrinfo first, because it runs on four threads that the whole process shares: a few names
 * of one tenant whose name server is silent would hold up every other tenant's look-up. It is asked for names that
 * the name servers do not know, since they may stand in the hosts file.
 */
export function createResolver(options: ResolverOptions = {}): Resolve {
  return async (hostname) => {
    if (isIP(hostname) !== 0) return [hostname];
    const resolver = new Resolver({ timeout: 2_000, tries: 2 });
    if (options.servers !== undefined) resolver.setServers(options.servers);
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = [v4, v6].flatMap((answer) => answer.status === "fulfilled" ? answer.value : []);
    if (found.length > 0) return found;
    const error = (v4 as PromiseRejectedResult).reason;
    // A name server that is silent or in trouble would be so for getaddrinfo too, on one of the four threads.
    if (options.servers !== undefined || !/^(ENOTFOUND|ENODATA|ECONNREFUSED)$/.test(error?.code)) throw error;
    return (await lookup(hostname, { all: true })).map(({ address }) => address);
  };
}
