/**
 * The part of a listener that does not depend on the protocol's version: from a request whose headers are read to
 * its reply, its fault and its line in the access log.
 *
 * @module
 */

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
import { type Bounds, connectionsPerAddress, defaultBounds } from "./defences/bounds.ts";
import { Admission } from "./admission.ts";
import { adoptRequestId } from "../request_id.ts";
import { Hosts } from "../target.ts";

/**
 * Browsers go to this name over HTTPS only, whatever link or typed address brings them (RFC 6797). On listeners that speak
 * TLS to everybody: a plain one stands behind an edge, which knows whether it is reached over HTTPS.
 *
 * Chosen: two years, because scanners and browsers' lists ask for one at least and nothing here ever speaks plain HTTP;
 * without `includeSubDomains`, because what is below the name is not ours to decide on.
 */
const strictTransport: readonly string[] = ["Strict-Transport-Security", "max-age=63072000"];

/** What the access log calls by name: any other method is text of the caller's choice, a key perhaps. */
const loggedMethods: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "TRACE",
  "CONNECT",
]);

const noParams: Readonly<Record<string, string>> = Object.freeze({});

/** The peer of a connection. */
export interface Peer {
  readonly address: string;
  /** What counts as one client. */
  readonly key: string;
  readonly isTrusted: boolean;
}

/** The part of an exchange that does not depend on the server. */
export abstract class EdgeExchange implements Exchange {
  abstract readonly method: string;
  abstract readonly path: string;
  abstract readonly query: string;
  /** The authority the request is for; `undefined` when it names none. */
  abstract readonly host: string | undefined;
  readonly edge: Edge;
  readonly peer: Peer;
  readonly startedMs: number = performance.now();
  requestId = "";
  /** The id as the response header has it, one character per byte. */
  requestIdHeader = "";
  keyId: string | null = null;
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

  abstract header(name: string): string | undefined;
  abstract headerLines(name: string): readonly string[];
  abstract readBody(bytesMax: number): Promise<Body>;

  #findClient(): string {
    const { address, isTrusted } = this.peer;
    const forwardedFor = isTrusted ? this.header("x-forwarded-for") : undefined;
    if (forwardedFor === undefined) return address;
    return forwardedClient(forwardedFor, { peer: address, trusted: this.edge.trustedProxies });
  }

  protected adopt(sent: string | undefined): void {
    const adopted = sent === undefined ? null : adoptRequestId(sent, this.edge.options.requestId);
    this.requestId = adopted ?? this.edge.options.requestId.generate();
    this.requestIdHeader = adopted === null ? this.requestId : sent as string;
  }
}

/** The listener's options, made ready. */
export class Edge {
  readonly options: ListenOptions;
  readonly bounds: Bounds;
  readonly trustedProxies: Networks;
  /** `null` where clients show no certificates. */
  readonly admission: Admission | null;
  /** `null` until the listener is bound. */
  #hosts: Hosts<Surface & { readonly hosts: readonly string[] }> | null = null;
  /** What every answer of the listener has, names and values in turn. */
  readonly headers: readonly string[];

  constructor(options: ListenOptions) {
    this.options = options;
    this.bounds = { ...defaultBounds, ...options.bounds };
    this.trustedProxies = options.trustedProxies ?? new Networks([]);
    const { tls, admit = () => null } = options;
    this.admission = tls?.caFile === undefined ? null : new Admission({ admit, nowMs: () => Date.now() });
    this.headers = tls && this.admission === null ? strictTransport : [];
  }

  /**
   * The listener is bound to this address, and takes no connection yet.
   *
   * @throws {Error} when it may not be
   */
  bound(address: BoundAddress): void {
    const { surfaces, strictHost, requireAddress } = this.options;
    requireAddress?.(address);
    const named = surfaces.map((surface) => {
      const { hosts } = surface;
      return { ...surface, hosts: typeof hosts === "function" ? hosts(address) : hosts };
    });
    this.#hosts = new Hosts(named, { strict: strictHost ?? surfaces.length > 1 });
  }

  /** The peer of a new connection, as the server names its address. */
  peer(remoteAddress: string | undefined): Peer {
    const address = canonicalAddress(remoteAddress ?? "") ?? "-";
    return { address, key: limiterKey(address), isTrusted: this.trustedProxies.contains(address) };
  }

  /** How many connections a peer's address may have. */
  connectionsOfAddressMax(peer: Peer): number {
    const { connectionsPerAddress: chosen = null } = this.options;
    return chosen ?? (this.isMany(peer) ? Infinity : connectionsPerAddress);
  }

  /** How many answers may wait for the clients at a peer's address. */
  untakenOfAddressMax(peer: Peer): number {
    return this.connectionsOfAddressMax(peer) === Infinity ? Infinity : this.bounds.untakenOfAddressMax;
  }

  /** Runs the handler. What it throws becomes a reply by {@linkcode Edge.fault}. */
  handle(exchange: EdgeExchange): Reply | Promise<Reply> {
    const { host } = exchange;
    const surface = this.#hosts?.find(host) ?? null;
    if (surface === null) return this.refuse(421, exchange.requestId);
    exchange.surface = surface;
    return surface.router.handle(exchange);
  }

  /** Reports a fault and gives the reply to it. */
  fault(exchange: EdgeExchange, error: unknown): Reply {
    this.report(error, exchange);
    try {
      if (exchange.surface !== null) return exchange.surface.fault(exchange, error);
    } catch (second) {
      this.report(second, exchange);
    }
    return this.refuse(503, exchange.requestId);
  }

  /** The reply to what no surface sees. Never throws. */
  refuse(status: RefusalStatus, requestId: string): Reply {
    try {
      return this.options.refuse(status, requestId);
    } catch (error) {
      this.report(error, null);
      return { status, headers: {}, body: null };
    }
  }

  /** Tells of a fault; what the observer throws at that has nowhere to go. */
  report(error: unknown, exchange: Exchange | null): void {
    try {
      this.options.observe({ kind: "fault", error, exchange });
    } catch {
      // A log that cannot be written must not take the request down with it.
    }
  }

  /** Whether many clients may be behind an address: a trusted proxy, this machine unless there is a bound for all. */
  isMany({ address, isTrusted }: Peer): boolean {
    const { connectionsPerAddress: chosen = null } = this.options;
    return isTrusted || chosen === Infinity || chosen === null && isLoopback(address);
  }

  /** A client was not let in. */
  refuseClient(socket: Socket, reason: string): void {
    const clientAddress = this.peer(socket.remoteAddress).address;
    this.tell({ kind: "client_refused", reason, clientAddress }, null);
  }

  /** Tells the observer; what it throws is reported. */
  tell(observation: HttpObservation, exchange: Exchange | null): void {
    try {
      this.options.observe(observation);
    } catch (error) {
      this.report(error, exchange);
    }
  }

  /** Writes the line of a request. */
  log(exchange: EdgeExchange, outcome: { status: number; bytes: number; aborted: boolean }): void {
    this.tell({
      kind: "request",
      requestId: exchange.requestId,
      surface: exchange.surface?.name ?? "-",
      method: loggedMethods.has(exchange.method) ? exchange.method : "-",
      route: exchange.route,
      status: outcome.status,
      durationMs: performance.now() - exchange.startedMs,
      bytes: outcome.bytes,
      clientAddress: exchange.clientAddress,
      keyId: exchange.keyId,
      reason: exchange.reason,
      aborted: outcome.aborted,
    }, exchange);
  }

  /** Writes the line of a request that could not be read. */
  logUnread(status: RefusalStatus, requestId: string, peer: Peer): void {
    this.tell({
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
      reason: null,
      aborted: false,
    }, null);
  }
}
