/** The protocol-independent part of a listener: routing, faults and the access log. */

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
 * HSTS on public TLS listeners (RFC 6797); behind an edge, the edge decides. Chosen: two years, as scanners and preload
 * lists ask for one at least; without `includeSubDomains`, because subdomains belong to others.
 */
const strictTransport: readonly string[] = ["Strict-Transport-Security", "max-age=63072000"];

/** Methods in the access log; any other is the caller's text, possibly a key. */
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
  /** The identity for limits. */
  readonly key: string;
  readonly isTrusted: boolean;
}

/** The server-independent part of an exchange. */
export abstract class EdgeExchange implements Exchange {
  abstract readonly method: string;
  abstract readonly path: string;
  abstract readonly query: string;
  /** The requested authority, if any. */
  abstract readonly host: string | undefined;
  readonly edge: Edge;
  readonly peer: Peer;
  readonly startedMs: number = performance.now();
  requestId = "";
  /** The id in the response header, one character per byte. */
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

/** The options of a listener, resolved. */
export class Edge {
  readonly options: ListenOptions;
  readonly bounds: Bounds;
  readonly trustedProxies: Networks;
  /** `null` without client certificates. */
  readonly admission: Admission | null;
  #hosts: Hosts<Surface & { readonly hosts: readonly string[] }> | null = null;
  /** Headers of every response, names and values in turn. */
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
   * Validates the bound address, before connections are accepted.
   *
   * @throws {Error} when it is refused
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

  /** The peer of a new connection. */
  peer(remoteAddress: string | undefined): Peer {
    const address = canonicalAddress(remoteAddress ?? "") ?? "-";
    return { address, key: limiterKey(address), isTrusted: this.trustedProxies.contains(address) };
  }

  /** Maximum connections of a peer's address. */
  connectionsOfAddressMax(peer: Peer): number {
    const { connectionsPerAddress: chosen = null } = this.options;
    return chosen ?? (this.isMany(peer) ? Infinity : connectionsPerAddress);
  }

  /** Maximum unread responses of a peer's address. */
  untakenOfAddressMax(peer: Peer): number {
    return this.connectionsOfAddressMax(peer) === Infinity ? Infinity : this.bounds.untakenOfAddressMax;
  }

  /** Runs the handler; an exception becomes a reply by {@linkcode Edge.fault}. */
  handle(exchange: EdgeExchange): Reply | Promise<Reply> {
    const { host } = exchange;
    const surface = this.#hosts?.find(host) ?? null;
    if (surface === null) return this.refuse(421, exchange.requestId);
    exchange.surface = surface;
    return surface.router.handle(exchange);
  }

  /** Reports a fault and returns its reply. */
  fault(exchange: EdgeExchange, error: unknown): Reply {
    this.report(error, exchange);
    try {
      if (exchange.surface !== null) return exchange.surface.fault(exchange, error);
    } catch (second) {
      this.report(second, exchange);
    }
    return this.refuse(503, exchange.requestId);
  }

  /** The reply of a refusal outside every surface; never throws. */
  refuse(status: RefusalStatus, requestId: string): Reply {
    try {
      return this.options.refuse(status, requestId);
    } catch (error) {
      this.report(error, null);
      return { status, headers: {}, body: null };
    }
  }

  /** Reports a fault, ignoring exceptions of the observer. */
  report(error: unknown, exchange: Exchange | null): void {
    try {
      this.options.observe({ kind: "fault", error, exchange });
    } catch {
      // A failing log must not fail the request.
    }
  }

  /** Whether an address may be shared by many clients: a trusted proxy, or this machine unless a limit is set. */
  isMany({ address, isTrusted }: Peer): boolean {
    const { connectionsPerAddress: chosen = null } = this.options;
    return isTrusted || chosen === Infinity || chosen === null && isLoopback(address);
  }

  /** Reports a refused client. */
  refuseClient(socket: Socket, reason: string): void {
    const clientAddress = this.peer(socket.remoteAddress).address;
    this.tell({ kind: "client_refused", reason, clientAddress }, null);
  }

  /** Reports an observation; an exception is reported as a fault. */
  tell(observation: HttpObservation, exchange: Exchange | null): void {
    try {
      this.options.observe(observation);
    } catch (error) {
      this.report(error, exchange);
    }
  }

  /** Logs a request. */
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

  /** Logs an unreadable request. */
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
