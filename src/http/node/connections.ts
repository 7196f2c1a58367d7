/**
 * Tracks connections and requests of a listener: their timeouts and ends.
 *
 * @module
 */

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

/** The open connections and requests of one listener, and their time bounds. */
export class Connections {
  readonly edge: Edge;
  /** Set by {@linkcode drain}: every answer closes its connection. */
  isDraining = false;
  /** Requests being read or handled. */
  readonly requests: Deadlines<OpenExchange>;
  /** Replies that a client is slow to take. */
  readonly stalls: Deadlines<OpenExchange>;
  /** Answered requests whose rest is being thrown away. */
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

  /** A socket was accepted: it takes a slot. Tells its address, and what that is known for. */
  accepted(socket: Socket): { readonly key: string; readonly reputation: Reputation } {
    // Node's own listener goes away with its parser: a reset after a CONNECT would end the process.
    socket.on("error", ignore);
    const { key, reputation } = this.#slots.take(socket);
    // Behind the slots' own listener.
    socket.once("close", () => this.#settle());
    return { key, reputation };
  }

  /** The TLS handshake of a socket begins. */
  begun(socket: Socket): void {
    this.#slots.begun(socket);
  }

  /** A connection is ready for requests; `socket` is what it goes over. */
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

  /** A connection has ended because of what its client sent. */
  markAbusive(transport: object): void {
    const connection = this.find(transport);
    if (connection !== undefined) this.#slots.markAbusive(connection.peer);
  }

  /** The connection of a socket or session. */
  find(transport: object): ServerConnection | undefined {
    return this.#all.get(transport);
  }

  /** A request began. */
  began(exchange: OpenExchange): void {
    const { connection } = exchange;
    if (connection.exchanges.size === 0) this.#timeouts.remove(connection);
    connection.exchanges.add(exchange);
    connection.hasAsked = true;
    this.#exchanges++;
    this.requests.add(exchange, exchange.startedMs);
  }

  /** A request of HTTP/1 was read while another is open. */
  queued(connection: ServerConnection, turn: Turn): void {
    if (connection.waiting < this.edge.bounds.pipelinedMax) connection.turns?.add(turn);
    else connection.overrun();
  }

  /** An answer, or the next piece of it, is given to the connection. */
  given(exchange: OpenExchange): void {
    if (!exchange.connection.isHttp2) return;
    const expelled = this.#unread.given(exchange);
    if (expelled === null) return;
    if (expelled.isAbusive) this.#expelAbusive(expelled.connection);
    else this.#expel(expelled.connection);
  }

  /** A client has taken its request back. */
  takenBack({ connection }: OpenExchange): void {
    if (connection.controlFrames.takenBack()) this.#expelAbusive(connection);
  }

  /** Nothing of an answer was taken for too long: it is cut, with its connection if that has taken nothing else either. */
  stalled(exchange: OpenExchange): void {
    const { connection } = exchange;
    const takenForMs = performance.now() - connection.takenMs;
    if (connection.isHttp2 && takenForMs >= this.edge.bounds.stallTimeoutMs) this.#expel(connection);
    else exchange.destroy();
  }

  /** The connection is done with a request: its answer is out, or the client gone. */
  ended(exchange: OpenExchange): void {
    const { connection } = exchange;
    this.stalls.remove(exchange);
    this.discards.remove(exchange);
    this.#unread.ended(exchange);
    connection.exchanges.delete(exchange);
    if (connection.exchanges.size > 0) return;
    if (connection.deadline !== null || connection.isClosed) return;
    // In a turn of the loop of its own: many requests in one read hold nobody up.
    if (connection.waiting > 0) setImmediate(() => connection.turns?.next());
    else if (connection.isClosing || (this.isDraining && connection.knowsItsEnd)) this.#end(connection);
    else {
      const { idle, lingering } = this.#timeouts;
      // An answer that was begun before the drain has promised to keep the connection.
      (this.isDraining ? lingering : idle).add(connection, performance.now());
      connection.turns?.next();
    }
  }

  /** The handler is done with a request too. */
  settled(exchange: OpenExchange): void {
    this.requests.remove(exchange);
    this.#exchanges--;
    this.#settle();
  }

  /** A connection will be closed by the client, or when its time is up. */
  ending(connection: ServerConnection): void {
    this.#timeouts.remove(connection);
    this.#timeouts.ending.add(connection, performance.now());
  }

  /** Ends what is idle, and the rest after the answers that are under way. */
  retire(): void {
    for (const connection of this.#all.values()) {
      connection.isClosing = true;
      if (connection.isQuiet) this.#end(connection);
    }
  }

  /** Ends what is idle, lets the rest finish for `graceMs`, cuts what is left. */
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
      // It takes no further stream and closes after its last one. What it has refused may be asked again.
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
    // A handler that hangs must not keep the process: its client is gone.
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
    // What it holds is let go now, however long its end takes.
    this.#closed(connection);
  }

  #closed(connection: ServerConnection): void {
    if (connection.isClosed) return;
    connection.isClosed = true;
    connection.turns?.clear();
    this.#timeouts.remove(connection);
    this.#all.delete(connection.transport);
    // Node closes the responses first; Deno says nothing of those that wait behind another one.
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
    // First: what is ended below may still say so to its client.
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
