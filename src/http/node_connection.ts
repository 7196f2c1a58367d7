/**
 * The connections of a node:http or node:http2 listener: which are waiting for a request and for how long,
 * which go first when there are too many, and how they end.
 *
 * @module
 */

import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { type Deadline, Deadlines, type Timed } from "./deadlines.ts";
import type { Edge, Peer } from "./edge.ts";
import type { NodeExchange } from "./node_exchange.ts";
import { type Turn, Turns } from "./node_turns.ts";

/** One connection: a socket that speaks HTTP/1.1, or an HTTP/2 session. */
export class Connection implements Timed {
  deadline: Deadline | null = null;
  readonly peer: Peer;
  readonly transport: Socket | ServerHttp2Session;
  /** Requests that are not over yet; one at a time on HTTP/1. */
  readonly exchanges = new Set<NodeExchange>();
  /** Of HTTP/1; the streams of an HTTP/2 session have no turns. */
  readonly turns: Turns | null;
  /** The parser has given up on it: what still comes is thrown away. */
  hasFailed = false;
  /** Bytes read when it failed. */
  failedAtBytes = 0;
  isClosed = false;
  /** No further request is wanted on it. */
  isClosing = false;
  #takesNoMore = false;

  constructor(transport: Socket | ServerHttp2Session, peer: Peer) {
    this.transport = transport;
    this.peer = peer;
    this.turns = "destroySoon" in transport ? new Turns(transport) : null;
  }

  /** The HTTP/1 request that is being answered. */
  get open(): NodeExchange | null {
    for (const exchange of this.exchanges) return exchange;
    return null;
  }

  /** How many HTTP/1 requests wait for their turn. */
  get waiting(): number {
    return this.turns?.size ?? 0;
  }

  /** Whether a further HTTP/1 request would have to wait. */
  get isBusy(): boolean {
    return this.turns !== null && (this.exchanges.size > 0 || this.turns.size > 0);
  }

  /** Whether a request that is read now is thrown away. */
  get ignores(): boolean {
    return this.hasFailed || this.#takesNoMore;
  }

  /** Nothing that still comes on it is a request. */
  fail(): void {
    this.hasFailed = true;
    this.isClosing = true;
    this.failedAtBytes = (this.transport as Socket).bytesRead;
  }

  /** It is told that an answer is the last: what follows is ignored. */
  takeNoMore(): void {
    this.#takesNoMore = true;
    this.turns?.clear();
    // node:http would make and keep a request and a response for each: ten times what the parsing costs.
    const { parser } = this.transport as { parser?: { onIncoming?: () => number } };
    if (parser?.onIncoming) parser.onIncoming = () => 0;
  }

  /**
   * A client sends more requests ahead than are kept: the one that is open is answered, and the others are for its next
   * connection (RFC 9112, section 9.3.2).
   */
  overrun(): void {
    this.takeNoMore();
    this.turns?.pause();
    this.isClosing = true;
  }

  /** The client sends nothing more: an HTTP/1 request that is not whole never will be. */
  cut(): void {
    if (this.waiting > 0) this.turns?.fail(400);
    else if (this.open !== null && !this.open.isComplete) this.open.destroy();
  }

  /** Whether it is an HTTP/2 session. */
  get isHttp2(): boolean {
    return this.turns === null;
  }

  /** Closes it at once. */
  destroy(): void {
    this.transport.destroy();
  }

  /** Tells the client that nothing more will come, and still takes what it sends. */
  half(): void {
    if (!this.isHttp2) (this.transport as Socket).end();
  }

  /** Closes it when what is already written has gone out. */
  end(): void {
    if ("destroySoon" in this.transport) this.transport.destroySoon();
    else this.transport.close();
  }
}

/** An error closes the connection, which is what counts. */
function ignore(): void {}

/** The open connections and requests of one listener, and their time bounds. */
export class Connections {
  readonly edge: Edge;
  /** Set by {@linkcode drain}: every answer closes its connection. */
  isDraining = false;
  /** Requests being read or handled. */
  readonly requests: Deadlines<NodeExchange>;
  /** Replies that a client is slow to take. */
  readonly stalls: Deadlines<NodeExchange>;
  /** Answered requests whose rest is being thrown away. */
  readonly discards: Deadlines<NodeExchange>;
  /** Connections that have not sent a request yet. */
  readonly #fresh: Deadlines<Connection>;
  /** Connections between requests. */
  readonly #idle: Deadlines<Connection>;
  /** Connections that are being closed: a client that takes nothing must not keep them. */
  readonly #ending: Deadlines<Connection>;
  readonly #all = new Map<object, Connection>();
  /** Sockets, those in a TLS handshake included. */
  readonly #sockets = new Set<Socket>();
  readonly #sweeper: ReturnType<typeof setInterval>;
  #exchanges = 0;
  #emptied: (() => void) | null = null;
  #drained: Promise<void> | null = null;

  constructor(edge: Edge) {
    const { bounds } = edge;
    this.edge = edge;
    this.requests = new Deadlines(bounds.requestTimeoutMs);
    this.stalls = new Deadlines(bounds.stallTimeoutMs);
    this.discards = new Deadlines(bounds.discardTimeoutMs);
    // Node answers slow headers with 408 first; this is for what it does not see, such as HTTP/2.
    this.#fresh = new Deadlines(bounds.headersTimeoutMs + 2 * bounds.sweepIntervalMs);
    this.#idle = new Deadlines(bounds.idleTimeoutMs);
    this.#ending = new Deadlines(bounds.discardTimeoutMs);
    this.#sweeper = setInterval(() => this.#sweep(), bounds.sweepIntervalMs);
    this.#sweeper.unref();
  }

  /** A socket was accepted. One too many costs the connection that has waited longest without a request. */
  accepted(socket: Socket): void {
    this.#sockets.add(socket);
    // Node's own listener goes away with its parser: a reset after a CONNECT would end the process.
    socket.on("error", ignore);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#settle();
    });
    if (this.#sockets.size <= this.edge.bounds.connectionsMax) return;
    const waiting = this.#fresh.oldest ?? this.#idle.oldest;
    if (waiting === null) socket.destroy();
    else waiting.destroy();
  }

  /** A connection is ready for requests. */
  opened(transport: Socket | ServerHttp2Session, remoteAddress: string | undefined): Connection {
    const connection = new Connection(transport, this.edge.peer(remoteAddress));
    this.#all.set(transport, connection);
    this.#fresh.add(connection, performance.now());
    transport.once("close", () => this.#closed(connection));
    transport.on("error", ignore);
    if (this.isDraining) this.#end(connection);
    return connection;
  }

  /** The connection of a socket or session. */
  find(transport: object): Connection | undefined {
    return this.#all.get(transport);
  }

  /** A request began. */
  began(exchange: NodeExchange): void {
    const { connection } = exchange;
    if (connection.exchanges.size === 0) this.#unlist(connection);
    connection.exchanges.add(exchange);
    this.#exchanges++;
    this.requests.add(exchange, exchange.startedMs);
  }

  /** A request of HTTP/1 was read while another is open. */
  queued(connection: Connection, turn: Turn): void {
    if (connection.waiting < this.edge.bounds.pipelinedMax) connection.turns?.add(turn);
    else connection.overrun();
  }

  /** The connection is done with a request: its answer is out, or the client gone. */
  ended(exchange: NodeExchange): void {
    const { connection } = exchange;
    this.stalls.remove(exchange);
    this.discards.remove(exchange);
    connection.exchanges.delete(exchange);
    if (connection.exchanges.size > 0) return;
    if (connection.deadline !== null || connection.isClosed) return;
    // In a turn of the loop of its own: many requests in one read hold nobody up.
    if (connection.waiting > 0) setImmediate(() => connection.turns?.next());
    else if (this.isDraining || connection.isClosing) this.#end(connection);
    else {
      this.#idle.add(connection, performance.now());
      connection.turns?.next();
    }
  }

  /** The handler is done with a request too. */
  settled(exchange: NodeExchange): void {
    this.requests.remove(exchange);
    this.#exchanges--;
    this.#settle();
  }

  /** A connection will be closed by the client, or when its time is up. */
  ending(connection: Connection): void {
    this.#unlist(connection);
    this.#ending.add(connection, performance.now());
  }

  /** Ends what is idle, lets the rest finish for `graceMs`, cuts what is left. */
  async drain(graceMs: number): Promise<void> {
    this.isDraining = true;
    for (const connection of this.#all.values()) {
      // An HTTP/2 session takes no further stream and closes after its last one.
      if (connection.exchanges.size + connection.waiting === 0) this.#end(connection);
      else if (connection.isHttp2) connection.end();
    }
    const cut = setTimeout(() => this.#cut(), graceMs);
    this.#drained ??= new Promise<void>((resolve) => this.#emptied = resolve);
    this.#settle();
    await this.#drained;
    clearTimeout(cut);
    clearInterval(this.#sweeper);
  }

  #end(connection: Connection): void {
    this.ending(connection);
    connection.end();
  }

  #cut(): void {
    for (const connection of this.#all.values()) connection.destroy();
    for (const socket of this.#sockets) socket.destroy();
    // A handler that hangs must not keep the process: its client is gone.
    this.#exchanges = 0;
    this.#settle();
  }

  #settle(): void {
    if (this.#emptied === null || this.#sockets.size > 0 || this.#exchanges > 0) return;
    this.#emptied();
  }

  #closed(connection: Connection): void {
    connection.isClosed = true;
    connection.turns?.clear();
    this.#unlist(connection);
    this.#all.delete(connection.transport);
    // Node closes the responses first; Deno says nothing of those that wait behind another one.
    for (const exchange of connection.exchanges) exchange.closed();
    this.#settle();
  }

  #unlist(connection: Connection): void {
    this.#fresh.remove(connection);
    this.#idle.remove(connection);
    this.#ending.remove(connection);
  }

  #sweep(): void {
    try {
      this.#sweepAt(performance.now());
    } catch (error) {
      this.edge.report(error, null);
    }
  }

  #sweepAt(nowMs: number): void {
    this.requests.sweep(nowMs, (exchange) => exchange.expire());
    this.stalls.sweep(nowMs, (exchange) => exchange.destroy());
    this.discards.sweep(nowMs, (exchange) => exchange.destroy());
    this.#fresh.sweep(nowMs, (connection) => connection.destroy());
    this.#idle.sweep(nowMs, (connection) => this.#end(connection));
    this.#ending.sweep(nowMs, (connection) => connection.destroy());
  }
}
