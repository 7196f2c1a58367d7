/**
 * One connection of a node:http or node:http2 listener.
 *
 * @module
 */

import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Reply } from "../exchange.ts";
import type { Deadline, Timed } from "../deadlines.ts";
import type { Peer } from "./edge.ts";
import { ControlFrameBudget, PipelineQueue } from "./defences/by_connection.ts";

// RFC 9113, section 7.
const enhanceYourCalm = 0xb;

/** A request on a connection, from its headers until its answer is out. */
export interface OpenExchange extends Timed {
  readonly connection: ServerConnection;
  readonly startedMs: number;
  readonly requestId: string;
  /** Whether the whole request has arrived. */
  readonly isComplete: boolean;
  /** Whether nothing is done until the client sends more of its body, or takes its answer. */
  readonly waitsForClient: boolean;
  /** Sends the reply, or lets go of it when the client is gone. */
  send(reply: Reply): void;
  /** The request's time is up. */
  expire(): void;
  /** Closes the HTTP/1 connection, or the HTTP/2 stream. */
  destroy(): void;
  /** The response is closed: sent, or cut off. */
  closed(): void;
}

/** One connection: a socket that speaks HTTP/1.1, or an HTTP/2 session. */
export class ServerConnection implements Timed {
  deadline: Deadline | null = null;
  readonly peer: Peer;
  readonly transport: Socket | ServerHttp2Session;
  /** Requests that are not over yet; one at a time on HTTP/1. */
  readonly exchanges = new Set<OpenExchange>();
  /** Of HTTP/1; the streams of an HTTP/2 session have no turns. */
  readonly turns: PipelineQueue | null;
  /** The parser has given up on it: what still comes is thrown away. */
  hasFailed = false;
  /** Bytes read when it failed. */
  failedAtBytes = 0;
  isClosed = false;
  readonly controlFrames: ControlFrameBudget = new ControlFrameBudget(performance.now());
  /** When it last took an answer, or a piece of one. */
  takenMs: number = performance.now();
  /** It has sent a request. */
  hasAsked = false;
  /** No further request is wanted on it. */
  isClosing = false;
  #takesNoMore = false;

  constructor(transport: Socket | ServerHttp2Session, peer: Peer) {
    this.transport = transport;
    this.peer = peer;
    this.turns = "destroySoon" in transport ? new PipelineQueue(transport) : null;
  }

  /** The HTTP/1 request that is being answered. */
  get open(): OpenExchange | null {
    for (const exchange of this.exchanges) return exchange;
    return null;
  }

  /** How many HTTP/1 requests wait for their turn. */
  get waiting(): number {
    return this.turns?.size ?? 0;
  }

  /** Whether no request is open, and none waits. */
  get isQuiet(): boolean {
    return this.exchanges.size === 0 && this.waiting === 0;
  }

  /** Whether it is the client's turn: to ask for the first time, to go on sending, to take an answer, or to leave. */
  get waitsForClient(): boolean {
    if (this.isQuiet) return !this.hasAsked || this.isClosing;
    for (const exchange of this.exchanges) if (!exchange.waitsForClient) return false;
    return this.exchanges.size > 0;
  }

  /** When the latest of its open requests began; `null` when none is open. */
  get latestStartMs(): number | null {
    let latest: number | null = null;
    for (const { startedMs } of this.exchanges) latest = Math.max(latest ?? 0, startedMs);
    return latest;
  }

  /** Whether a further HTTP/1 request would have to wait. */
  get isBusy(): boolean {
    return this.turns !== null && !this.isQuiet;
  }

  /** Whether a request that is read now is thrown away. */
  get ignores(): boolean {
    return this.hasFailed || this.#takesNoMore;
  }

  /** Whether its client knows that nothing more is answered on it. An HTTP/2 session tells it by itself when it is closed. */
  get knowsItsEnd(): boolean {
    return this.isHttp2 || this.ignores;
  }

  /** Nothing that still comes on it is a request. */
  fail(): void {
    this.hasFailed = true;
    this.isClosing = true;
    this.failedAtBytes = this.readBytes;
  }

  /** Its client has taken an answer. */
  tookAnswer(): void {
    this.takenMs = performance.now();
    this.controlFrames.answered();
  }

  /** How many bytes were read on it. */
  get readBytes(): number {
    const { transport } = this;
    return ("destroySoon" in transport ? transport : transport.socket)?.bytesRead ?? 0;
  }

  /** Whether it sends too much that is no request: of one that has failed, that is all it sends. */
  isAbusive(nowMs: number, failedBytesMax: number): boolean {
    if (this.hasFailed) return this.readBytes - this.failedAtBytes > failedBytesMax;
    return this.controlFrames.isTooMuch(this.readBytes, nowMs);
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

  /** Lets an HTTP/2 client have so many streams at once; further ones are refused, and may be asked for again. */
  restrict(streamsMax: number): void {
    if ("settings" in this.transport) this.transport.settings({ maxConcurrentStreams: streamsMax });
  }

  /** Ends an HTTP/2 session that costs too much: its streams are reset, and the client is told. */
  expel(): void {
    // Deno does not say it when it destroys a session.
    if ("goaway" in this.transport && !this.transport.destroyed) this.transport.goaway(enhanceYourCalm);
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
