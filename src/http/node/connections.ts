/** A listener's connections and requests, with their timeouts. */

import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { Deadlines } from "../deadlines.ts";
import { type Reputation, Slots, UnreadResponses } from "./defenses/by_address.ts";
import type { QueuedRequest } from "./defenses/by_connection.ts";
import type { Edge } from "./edge.ts";
import { type OpenExchange, ServerConnection } from "./server_connection.ts";

/** The timeouts of connections without an open request; each connection is in at most one list. */
class Timeouts {
  /** HTTP/1 connections before their first request. */
  readonly fresh: Deadlines<ServerConnection>;
  /** HTTP/2 sessions before their first request. */
  readonly freshSessions: Deadlines<ServerConnection>;
  /** Connections between requests. */
  readonly idle: Deadlines<ServerConnection>;
  /** Connections without a request during shutdown. */
  readonly lingering: Deadlines<ServerConnection>;
  /** Connections that wait for the client to read the last response and close. */
  readonly closing: Deadlines<ServerConnection>;

  constructor({ bounds }: Edge) {
    const { headersTimeoutMs, sweepIntervalMs } = bounds;
    // A backstop: Node's own header timeout expires sooner.
    this.fresh = new Deadlines(2 * (headersTimeoutMs + sweepIntervalMs));
    this.freshSessions = new Deadlines(headersTimeoutMs);
    this.idle = new Deadlines(bounds.idleTimeoutMs);
    this.lingering = new Deadlines(bounds.lingerTimeoutMs);
    this.closing = new Deadlines(bounds.discardTimeoutMs);
  }

  add(connection: ServerConnection, nowMs: number): void {
    (connection.isHttp2 ? this.freshSessions : this.fresh).add(connection, nowMs);
  }

  remove(connection: ServerConnection): void {
    this.fresh.remove(connection);
    this.freshSessions.remove(connection);
    this.idle.remove(connection);
    this.lingering.remove(connection);
    this.closing.remove(connection);
  }

  /** Gives a fresh or idle HTTP/1 connection a short time for one more request during shutdown. */
  linger(connection: ServerConnection, nowMs: number): void {
    const { list } = connection.deadline ?? {};
    if (list !== this.fresh && list !== this.idle) return;
    this.remove(connection);
    this.lingering.add(connection, nowMs);
  }

  /** Closes the expired connections, except those whose next request has arrived. */
  sweep(nowMs: number, close: (connection: ServerConnection) => void): void {
    const destroy = (connection: ServerConnection): void => connection.destroy();
    const closeIfIdle = (connection: ServerConnection): void =>
      afterReading(() => {
        const { isIdle, isClosed, deadline } = connection;
        if (isIdle && !isClosed && deadline === null) close(connection);
      });
    this.fresh.sweep(nowMs, destroy);
    this.freshSessions.sweep(nowMs, destroy);
    this.idle.sweep(nowMs, closeIfIdle);
    this.lingering.sweep(nowMs, closeIfIdle);
    this.closing.sweep(nowMs, destroy);
  }
}

/** Runs `call` after pending input has been read: within two turns of the event loop, which runs due timers first. */
function afterReading(call: () => void): void {
  setImmediate(() => setImmediate(call));
}

/** Ignores an error event; the `close` event that follows is handled. */
function ignore(): void {}

export class Connections {
  readonly edge: Edge;
  /** Whether the listener is shutting down, so that responses close their connection. */
  isDraining = false;
  /** Requests that are being read or handled, and responses that are sent in one write. */
  readonly requests: Deadlines<OpenExchange>;
  /** Responses that are streamed, or sent after a timeout. */
  readonly stalls: Deadlines<OpenExchange>;
  /** Early responses, whose requests are being discarded. */
  readonly discards: Deadlines<OpenExchange>;
  readonly #timeouts: Timeouts;
  readonly #all = new Map<object, ServerConnection>();
  readonly #slots: Slots;
  readonly #unread: UnreadResponses;
  readonly #sweeper: ReturnType<typeof setInterval>;
  #exchanges = 0;
  #resolveDrained: (() => void) | null = null;
  #drained: Promise<void> | null = null;

  constructor(edge: Edge) {
    const { bounds } = edge;
    this.edge = edge;
    this.#slots = new Slots(edge);
    this.#unread = new UnreadResponses(edge);
    this.requests = new Deadlines(bounds.requestTimeoutMs);
    this.stalls = new Deadlines(bounds.stallTimeoutMs);
    this.discards = new Deadlines(bounds.discardTimeoutMs);
    this.#timeouts = new Timeouts(edge);
    this.#sweeper = setInterval(() => this.#sweep(), bounds.sweepIntervalMs);
    this.#sweeper.unref();
  }

  /** Registers an accepted socket; returns the key and the reputation of its address. */
  onAccepted(socket: Socket): { readonly key: string; readonly reputation: Reputation } {
    // Node removes its own listener together with the parser; an unhandled reset after CONNECT would end the process.
    socket.on("error", ignore);
    const accepted = this.#slots.add(socket);
    socket.once("close", () => this.#resolveIfDrained());
    return accepted;
  }

  onHandshakeStarted(socket: Socket): void {
    this.#slots.onHandshakeStarted(socket);
  }

  /** Registers a connection over `socket` that is ready for requests. */
  onConnected(transport: Socket | ServerHttp2Session, socket: Socket): ServerConnection {
    const connection = new ServerConnection(transport, this.edge.peer(socket.remoteAddress));
    this.#slots.onConnected(socket, connection);
    this.#all.set(transport, connection);
    if (this.isDraining) this.#timeouts.lingering.add(connection, performance.now());
    else this.#timeouts.add(connection, performance.now());
    transport.once("close", () => this.#onClosed(connection));
    transport.on("error", ignore);
    const { peer } = connection;
    const streamsMax = this.#unread.streamsMax(peer, this.#slots.sessionsOf(peer));
    if (streamsMax < this.edge.bounds.streamsMax) connection.limitStreams(streamsMax);
    return connection;
  }

  markAbusive(transport: object): void {
    const connection = this.find(transport);
    if (connection !== undefined) this.#slots.markAbusive(connection.peer);
  }

  find(transport: object): ServerConnection | undefined {
    return this.#all.get(transport);
  }

  onRequest(exchange: OpenExchange): void {
    const { connection } = exchange;
    if (connection.exchanges.size === 0) this.#timeouts.remove(connection);
    connection.exchanges.add(exchange);
    connection.hasSentRequest = true;
    this.#exchanges++;
    this.requests.add(exchange, exchange.startedMs);
  }

  /** Queues an HTTP/1 request behind the current one; drops the pipeline if its queue is full. */
  enqueue(connection: ServerConnection, queued: QueuedRequest): void {
    if (connection.queuedRequests < this.edge.bounds.pipelinedMax) connection.pipeline?.add(queued);
    else connection.dropPipeline();
  }

  /** Counts an HTTP/2 response as unread when part of it is written; may evict a connection. */
  onWrite(exchange: OpenExchange): void {
    if (!exchange.connection.isHttp2) return;
    const eviction = this.#unread.add(exchange);
    if (eviction === null) return;
    if (eviction.isAbusive) this.#evictAbusive(eviction.connection);
    else this.#evict(eviction.connection);
  }

  onCanceled({ connection }: OpenExchange): void {
    if (connection.controlFrames.chargeCancellation()) this.#evictAbusive(connection);
  }

  /** Aborts a stalled response, or its HTTP/2 connection if the client reads no other response either. */
  onStalled(exchange: OpenExchange): void {
    const { connection } = exchange;
    const unreadForMs = performance.now() - connection.lastReadMs;
    if (connection.isHttp2 && unreadForMs >= this.edge.bounds.stallTimeoutMs) this.#evict(connection);
    else exchange.destroy();
  }

  onResponseEnd(exchange: OpenExchange): void {
    const { connection } = exchange;
    this.stalls.remove(exchange);
    this.discards.remove(exchange);
    this.#unread.remove(exchange);
    connection.exchanges.delete(exchange);
    if (connection.exchanges.size > 0) return;
    if (connection.deadline !== null || connection.isClosed) return;
    // A pipelined request waits for the next turn of the event loop, so that it does not delay other clients.
    if (connection.queuedRequests > 0) setImmediate(() => connection.pipeline?.startNext());
    else if (connection.isClosing || (this.isDraining && connection.canCloseCleanly)) this.#close(connection);
    else {
      const { idle, lingering } = this.#timeouts;
      // A response sent before the shutdown had no `Connection: close`, so another request may follow.
      (this.isDraining ? lingering : idle).add(connection, performance.now());
      connection.pipeline?.startNext();
    }
  }

  /** Called when both the handler and the response have ended. */
  onExchangeEnd(exchange: OpenExchange): void {
    this.requests.remove(exchange);
    this.#exchanges--;
    this.#resolveIfDrained();
  }

  /** Gives the client a bounded time to close the connection. */
  awaitClose(connection: ServerConnection): void {
    this.#timeouts.remove(connection);
    this.#timeouts.closing.add(connection, performance.now());
  }

  /** Closes idle connections immediately, and all others after their current responses. */
  retire(): void {
    for (const connection of this.#all.values()) {
      connection.isClosing = true;
      if (connection.isIdle) this.#close(connection);
    }
  }

  /** Closes idle connections, gives others `graceMs` to finish, then aborts them. */
  async drain(graceMs: number): Promise<void> {
    if (!this.isDraining) this.#startDrain();
    const abort = setTimeout(() => this.#abortAll(), graceMs);
    this.#drained ??= new Promise<void>((resolve) => this.#resolveDrained = resolve);
    this.#resolveIfDrained();
    await this.#drained;
    clearTimeout(abort);
    clearInterval(this.#sweeper);
  }

  #startDrain(): void {
    this.isDraining = true;
    afterReading(() => this.#announceClose());
    const closeQueued = setTimeout(() => this.#slots.closeQueued(), this.edge.bounds.handshakeTimeoutMs);
    closeQueued.unref();
  }

  #announceClose(): void {
    const nowMs = performance.now();
    for (const connection of this.#all.values()) {
      if (!connection.isHttp2) {
        if (connection.isIdle) this.#timeouts.linger(connection, nowMs);
      } else if (connection.isIdle) this.#close(connection);
      // Refuses new streams, which the client may retry.
      else connection.close();
    }
  }

  #close(connection: ServerConnection): void {
    this.awaitClose(connection);
    connection.close();
  }

  #abortAll(): void {
    for (const connection of this.#all.values()) connection.destroy();
    this.#slots.destroy();
    // A hanging handler must not keep the process running.
    this.#exchanges = 0;
    this.#resolveIfDrained();
  }

  #resolveIfDrained(): void {
    if (this.#resolveDrained === null || this.#slots.size > 0 || this.#exchanges > 0) return;
    this.#resolveDrained();
  }

  #evictAbusive(connection: ServerConnection): void {
    this.#slots.markAbusive(connection.peer);
    this.#evict(connection);
  }

  #evict(connection: ServerConnection): void {
    connection.evict();
    // The transport may emit `close` late.
    this.#onClosed(connection);
  }

  #onClosed(connection: ServerConnection): void {
    if (connection.isClosed) return;
    connection.isClosed = true;
    connection.pipeline?.clear();
    this.#timeouts.remove(connection);
    this.#all.delete(connection.transport);
    // The responses' own `close` events may follow, but Deno emits none for queued requests.
    for (const exchange of connection.exchanges) exchange.onClosed();
    this.#resolveIfDrained();
  }

  #sweep(): void {
    try {
      this.#sweepAt(performance.now());
    } catch (error) {
      this.edge.report(error, null);
    }
  }

  #sweepAt(nowMs: number): void {
    // After the evictions below, this would close the sessions' sockets before their GOAWAY is sent.
    this.#slots.sweep();
    for (const connection of this.#all.values()) {
      if (connection.isAbusive(nowMs, this.edge.bounds.discardBytesMax)) this.#evictAbusive(connection);
    }
    this.requests.sweep(nowMs, (exchange) => exchange.expire());
    this.stalls.sweep(nowMs, (exchange) => this.onStalled(exchange));
    this.discards.sweep(nowMs, (exchange) => exchange.destroy());
    this.#timeouts.sweep(nowMs, (connection) => this.#close(connection));
  }
}
