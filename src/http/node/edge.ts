/** The parts of a listener that do not depend on Node's servers: limits, routing, faults and the access log. */

import type { Socket } from "node:net";
import type { Body, Exchange, Reply } from "../exchange.ts";
import { canonicalAddress, forwardedClient, isLoopback, limiterKey, Networks } from "../addresses.ts";
import {
  type BoundAddress,
  type HttpObservation,
  type ListenOptions,
  type RefusalStatus,
  type Surface,
} from "../options.ts";
import { type Bounds, connectionsPerAddress, defaultBounds } from "./defenses/bounds.ts";
import { Admission } from "./admission.ts";
import { adoptRequestId } from "../request_id.ts";
import { Hosts } from "../target.ts";

/**
 * HSTS (RFC 6797) on public TLS listeners. Chosen: two years, because scanners and preload lists require at least one;
 * without `includeSubDomains`, because other services may own the subdomains.
 */
const strictTransport: readonly string[] = ["Strict-Transport-Security", "max-age=63072000"];

/** The methods that the access log shows; any other is the caller's text, which may contain a key. */
const loggedMethods: ReadonlySet<string> = new Set(
  "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT".split(" "),
);

const noParams: Readonly<Record<string, string>> = Object.freeze({});

export interface Peer {
  readonly address: string;
  /** The rate limit key for the address. */
  readonly key: string;
  readonly isTrusted: boolean;
}

/** The parts of an exchange that do not depend on Node's servers. */
export abstract class EdgeExchange implements Exchange {
  abstract readonly method: string;
  abstract readonly path: string;
  abstract readonly query: string;
  abstract readonly host: string | undefined;
  readonly edge: Edge;
  readonly peer: Peer;
  readonly startedMs: number = performance.now();
  requestId = "";
  /** The request id for the response header, one character per byte. */
  requestIdHeader = "";
  keyId: string | null = null;
  eventId: string | null = null;
  reason: string | null = null;
  route = "-";
  params = noParams;
  surface: Surface | null = null;
  #clientAddress: string | null = null;

  constructor(edge: Edge, peer: Peer) {
    this.edge = edge;
    this.peer = peer;
  }

  get clientAddress(): string {
    this.#clientAddress ??= this.#findClient();
    return this.#clientAddress;
  }

  get peerAddress(): string {
    return this.peer.address;
  }

  abstract header(name: string): string | undefined;
  abstract headerLines(name: string): readonly string[];
  abstract readBody(bytesMax: number): Promise<Body>;

  #findClient(): string {
    const { address, isTrusted } = this.peer;
    const forwardedFor = isTrusted ? this.header("x-forwarded-for") : undefined;
    if (forwardedFor === undefined) return address;
    return forwardedClient(forwardedFor, { peer: address, trusted: this.edge.trustedProxies });
  }

  protected setRequestId(sent: string | undefined): void {
    const adopted = sent === undefined ? null : adoptRequestId(sent, this.edge.options.requestId);
    this.requestId = adopted ?? this.edge.options.requestId.generate();
    this.requestIdHeader = adopted === null ? this.requestId : sent as string;
  }
}

/** A listener's options with defaults, and the operations that depend on them. */
export class Edge {
  readonly options: ListenOptions;
  readonly bounds: Bounds;
  readonly trustedProxies: Networks;
  /** `null` without client certificates. */
  readonly admission: Admission | null;
  #hosts: Hosts<Surface & { readonly hosts: readonly string[] }> | null = null;
  /** The headers of every response, names and values in turn. */
  readonly headers: readonly string[];

  constructor(options: ListenOptions) {
    this.options = options;
    this.bounds = { ...defaultBounds, ...options.bounds };
    this.trustedProxies = options.trustedProxies ?? new Networks();
    const { tls, admit = () => null } = options;
    this.admission = tls?.caFile === undefined ? null : new Admission({ admit, nowMs: () => Date.now() });
    this.headers = tls && this.admission === null ? strictTransport : [];
  }

  /** Validates the bound address and the hosts before connections are accepted; throws if one is refused. */
  onBound(address: BoundAddress): void {
    const { surfaces, strictHost, requireAddress } = this.options;
    requireAddress?.(address);
    const named = surfaces.map((surface) => {
      const { hosts } = surface;
      return { ...surface, hosts: typeof hosts === "function" ? hosts(address) : hosts };
    });
    this.#hosts = new Hosts(named, { strict: strictHost ?? surfaces.length > 1 });
  }

  peer(remoteAddress: string | undefined): Peer {
    const address = canonicalAddress(remoteAddress ?? "") ?? "-";
    return { address, key: limiterKey(address), isTrusted: this.trustedProxies.contains(address) };
  }

  connectionsPerAddressMax(peer: Peer): number {
    const { connectionsPerAddress: configured = null } = this.options;
    return configured ?? (this.isShared(peer) ? Infinity : connectionsPerAddress);
  }

  unreadPerAddressMax(peer: Peer): number {
    return this.connectionsPerAddressMax(peer) === Infinity ? Infinity : this.bounds.unreadPerAddressMax;
  }

  /** Calls the surface's handler; pass its exceptions to {@linkcode Edge.fault}. */
  handle(exchange: EdgeExchange): Reply | Promise<Reply> {
    const { host } = exchange;
    const surface = this.#hosts?.find(host) ?? null;
    if (surface === null) return this.refuse(421, exchange.requestId);
    exchange.surface = surface;
    return surface.router.handle(exchange);
  }

  /** Reports an exception and returns the surface's fault reply. */
  fault(exchange: EdgeExchange, error: unknown): Reply {
    this.report(error, exchange);
    try {
      if (exchange.surface !== null) return exchange.surface.fault(exchange, error);
    } catch (second) {
      this.report(second, exchange);
    }
    return this.refuse(503, exchange.requestId);
  }

  /** Returns the reply to a request that no surface handles; never throws. */
  refuse(status: RefusalStatus, requestId: string): Reply {
    try {
      return this.options.refuse(status, requestId);
    } catch (error) {
      this.report(error, null);
      return { status, headers: {}, body: null };
    }
  }

  /** Reports a fault; never throws. */
  report(error: unknown, exchange: Exchange | null): void {
    try {
      this.options.observe({ kind: "fault", error, exchange });
    } catch {
      // A logging failure must not fail the request.
    }
  }

  /**
   * Whether many clients may share the address: true for a trusted proxy, for loopback if no limit is configured, and
   * for every address if the limit is `Infinity`.
   */
  isShared({ address, isTrusted }: Peer): boolean {
    const { connectionsPerAddress: configured = null } = this.options;
    return isTrusted || configured === Infinity || configured === null && isLoopback(address);
  }

  reportRefusedClient(socket: Socket, reason: string): void {
    const clientAddress = this.peer(socket.remoteAddress).address;
    this.observe({ kind: "client_refused", reason, clientAddress }, null);
  }

  /** Reports an observation; if the observer throws, reports the exception as a fault. */
  observe(observation: HttpObservation, exchange: Exchange | null): void {
    try {
      this.options.observe(observation);
    } catch (error) {
      this.report(error, exchange);
    }
  }

  log(exchange: EdgeExchange, outcome: { status: number; bytes: number; aborted: boolean }): void {
    this.observe({
      kind: "request",
      requestId: exchange.requestId,
      surface: exchange.surface?.name ?? "-",
      method: loggedMethods.has(exchange.method) ? exchange.method : "-",
      route: exchange.route,
      durationMs: performance.now() - exchange.startedMs,
      clientAddress: exchange.clientAddress,
      keyId: exchange.keyId,
      eventId: exchange.eventId,
      reason: exchange.reason,
      ...outcome,
    }, exchange);
  }

  logMalformed(status: RefusalStatus, requestId: string, peer: Peer): void {
    this.observe({
      kind: "request",
      requestId,
      surface: "-",
      method: "-",
      route: "-",
      status,
      durationMs: 0,
      bytes: 0,
      clientAddress: peer.address,
      keyId: null,
      eventId: null,
      reason: null,
      aborted: false,
    }, null);
  }
}
