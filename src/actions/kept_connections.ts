/**
 * The connections to the hosts of webhooks. Each belongs to one host name and port, for which the other side has shown its
 * certificate, and goes to one address; it is kept for the next request while the name still has that address.
 *
 * Chosen: kept, and not one for each request with a look-up of its own. 2,000 leads in a burst through the actions process
 * to one webhook over TLS, 64 at once, both on Node 24, in five interleaved turns on a busy machine of two processors
 * (medians, lowest and highest):
 *
 * | | leads/s | processor time of the process a lead | time-outs |
 * |---|---|---|---|
 * | a look-up and a connection each, node:https | 29 (27–30) | 3,780 µs (3,680–4,105) | 281 (214–316) |
 * | the same to an address, without a look-up | 73 (27–363) | 2,030 µs (1,815–2,800) | 0 |
 * | this, the server closing each connection | 40 (33–72) | 2,295 µs (2,105–2,595) | 0 |
 * | this | 274 (73–624) | 870 µs (680–955) | 0 |
 *
 * The time-outs were the name server's, which lost part of two questions a lead: the resolver gave up after 5 to 7 s of the
 * 10 s that a lead has.
 *
 * @module
 */

import { isIP } from "node:net";
import tls from "node:tls";
import type { HostConnection } from "./host_connection.ts";
import { type HostAnswer, HostConnections, type HostRequest } from "./host_connections.ts";

/** How connections are made. */
export interface KeptConnectionsOptions {
  /** Whether an address may be connected to; asked again when the connection is there. */
  readonly mayCall: (address: string) => boolean;
  /** Certificate authorities to trust; left out: the runtime's. */
  readonly ca?: string;
}

/** Where a request goes. */
export interface Target {
  /** Without brackets when it is an address. */
  readonly hostname: string;
  readonly port: number;
  /** Those of the host that may be called, one or more; they are tried in this order. */
  readonly addresses: readonly string[];
}

// All hosts together; the one that has been idle for longest goes.
const idleMax = 256;
// How often idle connections are looked at, so that we close them and not the other side.
const sweepMs = 1_000;

/** Sends requests to any host over its kept connections. */
export class KeptConnections {
  readonly #options: KeptConnectionsOptions;
  // Reads the authorities once instead of for each connection.
  readonly #secureContext: tls.SecureContext;
  /** Those with a connection or a request; they go with the last of these. */
  readonly #hosts = new Map<string, HostConnections>();
  /** In the order in which they became idle. */
  readonly #idle = new Set<HostConnection>();
  #sweeper: ReturnType<typeof setTimeout> | undefined;

  constructor(options: KeptConnectionsOptions) {
    this.#options = options;
    this.#secureContext = tls.createSecureContext({
      minVersion: "TLSv1.2",
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    });
  }

  /** Sends a request as {@linkcode HostConnections.send} says. */
  send(target: Target, request: HostRequest): Promise<HostAnswer> {
    return this.#host(target).send(target.addresses, request);
  }

  #host({ hostname, port }: Target): HostConnections {
    const key = `${hostname}:${port}`;
    const host = this.#hosts.get(key) ?? new HostConnections({
      connect: (address) =>
        tls.connect({
          // The address that was checked: no look-up, which could give another one.
          ...{ host: address, port },
          secureContext: this.#secureContext,
          // The certificate is for the name; an address is no name to ask for, and verified all the same.
          servername: isIP(hostname) === 0 ? hostname.replace(/\.$/, "") : "",
          // Also where the environment says otherwise.
          rejectUnauthorized: true,
          ALPNProtocols: ["http/1.1"],
        }),
      mayCall: this.#options.mayCall,
      onIdle: (idle) => this.#keep(idle),
      onTaken: (taken) => this.#idle.delete(taken),
      onEmpty: () => this.#hosts.delete(key),
    });
    this.#hosts.set(key, host);
    return host;
  }

  #keep(idle: HostConnection): void {
    this.#idle.add(idle);
    for (const oldest of this.#idle) {
      if (this.#idle.size <= idleMax) break;
      oldest.retire();
    }
    this.#sweepLater();
  }

  #sweepLater(): void {
    if (this.#sweeper !== undefined || this.#idle.size === 0) return;
    this.#sweeper = setTimeout(() => {
      this.#sweeper = undefined;
      const nowMs = performance.now();
      for (const idle of this.#idle) if (!idle.isFresh(nowMs)) idle.retire();
      this.#sweepLater();
    }, sweepMs);
  }
}
