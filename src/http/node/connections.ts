/** Tracks connections and requests of a listener: their timeouts and ends. */

import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { Deadlines } from "../deadlines.ts";
import { type Reputation, Slots, UnreadResponses } from "./defences/by_address.ts";
import type { Turn } from "./defences/by_connection.ts";
import type { Edge } from "./edge.ts";
import { type OpenExchange, ServerConnection } from "./server_connection.ts";

/** Callbacks for expired connections. */
interface Ends {
  readonly end: (connection: ServerConnection) => void;
  readonly destroy: (connection: ServerConnection) => void;
}

/** Waiting connections, each in at most one list. */
class Timeouts {
  /** HTTP/1 connections without a request yet. */
  readonly fresh: Deadlines<ServerConnection>;
  /** HTTP/2 sessions without a request yet. */
  readonly freshSessions: Deadlines<ServerConnection>;
  /** Connections between requests. */
  readonly idle: Deadlines<ServerConnection>;
  /** Idle connections while the listener closes. */
  readonly lingering: Deadlines<ServerConnection>;
  /** Closing connections; a client that does not read must not keep them. */
  readonly ending: Deadlines<ServerConnection>;

  constructor({ bounds }: Edge) {
    const { headersTimeoutMs, sweepIntervalMs } = bounds;
    // A backstop: Node ends silent connections, and slow headers with 408, first.
    this.fresh = new Deadlines(2 * (headersTimeoutMs + sweepIntervalMs));
    this.freshSessions = new Deadlines(headersTimeoutMs);
    this.idle = new Deadlines(bounds.idleTimeoutMs);
    this.lingering = new Deadlines(bounds.lingerTimeoutMs);
    this.ending = new Deadlines(bounds.discardTimeoutMs);
  }

  opened(connection: ServerConnection, nowMs: number): void {
    (connection.isHttp2 ? this.freshSessions : this.fresh).add(connection, nowMs);
  }

  remove(connection: ServerConnection): void {
    this.fresh.remove(connection);
    this.freshSessions.remove(connection);
    this.idle.remove(connection);
    this.lingering.remove(connection);
    this.ending.remove(connection);
  }

  /** Keeps the connection for one more request while the listener closes, unless it is ending. */
  linger(connection: ServerConnection, nowMs: number): void {
    const { list } = connection.deadline ?? {};
    if (list !== this.fresh && list !== this.idle) return;
    this.remove(connection);
    this.lingering.add(connection, nowMs);
  }

  /** Ends expired connections, unless an unread request has arrived. */
  sweep(nowMs: number, { end, destroy }: Ends): void {
    const endUnused = (connection: ServerConnection): void =>
      afterReading(() => {
        const { isQuiet, isClosed, deadline } = connection;
        if (isQuiet && !isClosed && deadline === null) end(connection);
      });
    this.fresh.sweep(nowMs, destroy);
    this.freshSessions.sweep(nowMs, destroy);
    this.idle.sweep(nowMs, endUnused);
    this.lingering.sweep(nowMs, endUnused);
    this.ending.sweep(nowMs, destroy);
  }
}

/** Calls back after pending input is read: a busy process reads requests late. */
function afterReading(call: () => void): void {
  // Input that becomes ready in one turn is read in the next.
  setImmediate(() => setImmediate(call));
}

/** Ignored: an error closes the connection. */
function ignore(): void {}

/** The open connections and requests of a listener, with their time bounds. */
export class Connections {
  readonly edge: Edge;
  /** Set by {@linkcode drain}: every response closes its connection. */
  isDraining = false;
  /** Requests being read or handled. */
  readonly requests: Deadlines<OpenExchange>;
  /** Responses to slow readers. */
  readonly stalls: Deadlines<OpenExchange>;
  /** Answered requests whose remaining body is discarded. */
  readonly discards: Deadlines<OpenExchange>;
  readonly #timeouts: Timeouts;
  readonly #all = new Map<object, ServerConnection>();
  readonly #slots: Slots;
  readonly #unread: UnreadResponses;
  readonly #sweeper: ReturnType<typeof setInterval>;
  #exchanges = 0;
  #emptied: (() => void) | null = null;
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

  /** Takes a slot for an accepted socket; returns its address and reputation. */
  accepted(socket: Socket): { readonly key: string; readonly reputation: Reputation } {
    // Node removes its own listener with its parser; a reset after CONNECT would end the process.
    socket.on("error", ignore);
    const { key, reputation } = this.#slots.take(socket);
    socket.once("close", () => this.#settle());
    return { key, reputation };
  }

  begun(socket: Socket): void {
    this.#slots.begun(socket);
  }

  /** Registers a connection that is ready for requests over `socket`. */
  opened(transport: Socket | ServerHttp2Session, socket: Socket): ServerConnection {
    const connection = new ServerConnection(transport, this.edge.peer(socket.remoteAddress));
    this.#slots.opened(socket, connection);
    this.#all.set(transport, connection);
    if (this.isDraining) this.#timeouts.lingering.add(connection, performance.now());
    else this.#timeouts.opened(connection, performance.now());
    transport.once("close", () => this.#closed(connection));
    transport.on("error", ignore);
    const { peer } = connection;
    const streamsMax = this.#unread.streamsMax(peer, this.#slots.sessionsOf(peer));
    if (streamsMax < this.edge.bounds.streamsMax) connection.restrict(streamsMax);
    return connection;
  }

  /** Records that a connection was ended for abuse. */
  markAbusive(transport: object): void {
    const connection = this.find(transport);
    if (connection !== undefined) this.#slots.markAbusive(connection.peer);
  }

  /** Finds the connection of a socket or session. */
  find(transport: object): ServerConnection | undefined {
    return this.#all.get(transport);
  }

  began(exchange: OpenExchange): void {
    const { connection } = exchange;
    if (connection.exchanges.size === 0) this.#timeouts.remove(connection);
    connection.exchanges.add(exchange);
    connection.hasAsked = true;
    this.#exchanges++;
    this.requests.add(exchange, exchange.startedMs);
  }

  /** Queues an HTTP/1 request behind an open one. */
  queued(connection: ServerConnection, turn: Turn): void {
    if (connection.waiting < this.edge.bounds.pipelinedMax) connection.turns?.add(turn);
    else connection.overrun();
  }

  /** Records a response (or piece) passed to the connection. */
  given(exchange: OpenExchange): void {
    if (!exchange.connection.isHttp2) return;
    const expelled = this.#unread.given(exchange);
    if (expelled === null) return;
    if (expelled.isAbusive) this.#expelAbusive(expelled.connection);
    else this.#expel(expelled.connection);
  }

  /** Records that a client canceled its request. */
  takenBack({ connection }: OpenExchange): void {
    if (connection.controlFrames.takenBack()) this.#expelAbusive(connection);
  }

  /** Aborts a response that stalled, and its connection if it read nothing else either. */
  stalled(exchange: OpenExchange): void {
    const { connection } = exchange;
    const takenForMs = performance.now() - connection.takenMs;
    if (connection.isHttp2 && takenForMs >= this.edge.bounds.stallTimeoutMs) this.#expel(connection);
    else exchange.destroy();
  }

  /** Records that the response was sent or the client disconnected. */
  ended(exchange: OpenExchange): void {
    const { connection } = exchange;
    this.stalls.remove(exchange);
    this.discards.remove(exchange);
    this.#unread.ended(exchange);
    connection.exchanges.delete(exchange);
    if (connection.exchanges.size > 0) return;
    if (connection.deadline !== null || connection.isClosed) return;
    // In its own turn of the loop, so that pipelined requests delay no one.
    if (connection.waiting > 0) setImmediate(() => connection.turns?.next());
    else if (connection.isClosing || (this.isDraining && connection.knowsItsEnd)) this.#end(connection);
    else {
      const { idle, lingering } = this.#timeouts;
      // A response from before the drain has promised keep-alive.
      (this.isDraining ? lingering : idle).add(connection, performance.now());
      connection.turns?.next();
    }
  }

  /** Records that the handler has finished. */
  settled(exchange: OpenExchange): void {
    this.requests.remove(exchange);
    this.#exchanges--;
    this.#settle();
  }

  /** Waits for the client to close, within a bound. */
  ending(connection: ServerConnection): void {
    this.#timeouts.remove(connection);
    this.#timeouts.ending.add(connection, performance.now());
  }

  /** Closes idle connections, and others after their current responses. */
  retire(): void {
    for (const connection of this.#all.values()) {
      connection.isClosing = true;
      if (connection.isQuiet) this.#end(connection);
    }
  }

  /** Closes idle connections, lets others finish for `graceMs`, then aborts the rest. */
  async drain(graceMs: number): Promise<void> {
    if (!this.isDraining) this.#beginDrain();
    const cut = setTimeout(() => this.#cut(), graceMs);
    this.#drained ??= new Promise<void>((resolve) => this.#emptied = resolve);
    this.#settle();
    await this.#drained;
    clearTimeout(cut);
    clearInterval(this.#sweeper);
  }

  #beginDrain(): void {
    this.isDraining = true;
    afterReading(() => this.#tellToGo());
    const endLine = setTimeout(() => this.#slots.endLine(), this.edge.bounds.handshakeTimeoutMs);
    endLine.unref();
  }

  #tellToGo(): void {
    const nowMs = performance.now();
    for (const connection of this.#all.values()) {
      if (!connection.isHttp2) {
        if (connection.isQuiet) this.#timeouts.linger(connection, nowMs);
      } else if (connection.isQuiet) this.#end(connection);
      // Takes no further streams; refused ones may be retried.
      else connection.end();
    }
  }

  #end(connection: ServerConnection): void {
    this.ending(connection);
    connection.end();
  }

  #cut(): void {
    for (const connection of this.#all.values()) connection.destroy();
    this.#slots.destroy();
    // A hanging handler must not keep the process.
    this.#exchanges = 0;
    this.#settle();
  }

  #settle(): void {
    if (this.#emptied === null || this.#slots.size > 0 || this.#exchanges > 0) return;
    this.#emptied();
  }

  #expelAbusive(connection: ServerConnection): void {
    this.#slots.markAbusive(connection.peer);
    this.#expel(connection);
  }

  #expel(connection: ServerConnection): void {
    connection.expel();
    // Released at once, however long the end takes.
    this.#closed(connection);
  }

  #closed(connection: ServerConnection): void {
    if (connection.isClosed) return;
    connection.isClosed = true;
    connection.turns?.clear();
    this.#timeouts.remove(connection);
    this.#all.delete(connection.transport);
    // Node closes responses first; Deno reports nothing for queued ones.
    for (const exchange of connection.exchanges) exchange.closed();
    this.#settle();
  }

  #sweep(): void {
    try {
      this.#sweepAt(performance.now());
    } catch (error) {
      this.edge.report(error, null);
    }
  }

  #sweepAt(nowMs: number): void {
    // Runs first: connections ended below may still inform their clients.
    this.#slots.sweep();
    for (const connection of this.#all.values()) {
      if (connection.isAbusive(nowMs, this.edge.bounds.discardBytesMax)) this.#expelAbusive(connection);
    }
    this.requests.sweep(nowMs, (exchange) => exchange.expire());
    this.stalls.sweep(nowMs, (exchange) => this.stalled(exchange));
    this.discards.sweep(nowMs, (exchange) => exchange.destroy());
    this.#timeouts.sweep(nowMs, {
      end: (connection) => this.#end(connection),
      destroy: (connection) => connection.destroy(),
    });
  }
}
