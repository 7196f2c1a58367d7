/** A connection of a node:http or node:http2 listener. */

import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Reply } from "../exchange.ts";
import type { Deadline, Timed } from "../deadlines.ts";
import type { Peer } from "./edge.ts";
import { ControlFrameBudget, PipelineQueue } from "./defences/by_connection.ts";

// RFC 9113, section 7.
const enhanceYourCalm = 0xb;

/** A request from its headers until its response is sent. */
export interface OpenExchange extends Timed {
  readonly connection: ServerConnection;
  readonly startedMs: number;
  readonly requestId: string;
  /** Whether the request is complete. */
  readonly isComplete: boolean;
  /** Whether the request waits for the client to send or to read. */
  readonly waitsForClient: boolean;
  /** Sends the reply, or drops it if the client is gone. */
  send(reply: Reply): void;
  /** Expires the request. */
  expire(): void;
  /** Closes the HTTP/1 connection or the HTTP/2 stream. */
  destroy(): void;
  /** The response has ended: sent or aborted. */
  closed(): void;
}

/** An HTTP/1.1 socket or an HTTP/2 session. */
export class ServerConnection implements Timed {
  deadline: Deadline | null = null;
  readonly peer: Peer;
  readonly transport: Socket | ServerHttp2Session;
  /** Open requests; at most one on HTTP/1. */
  readonly exchanges = new Set<OpenExchange>();
  /** The HTTP/1 pipeline; `null` on HTTP/2. */
  readonly turns: PipelineQueue | null;
  /** The parser has failed; further input is discarded. */
  hasFailed = false;
  failedAtBytes = 0;
  isClosed = false;
  readonly controlFrames: ControlFrameBudget = new ControlFrameBudget(performance.now());
  /** When the client last read part of a response. */
  takenMs: number = performance.now();
  /** It has sent a request. */
  hasAsked = false;
  /** No further requests are wanted. */
  isClosing = false;
  #takesNoMore = false;

  constructor(transport: Socket | ServerHttp2Session, peer: Peer) {
    this.transport = transport;
    this.peer = peer;
    this.turns = "destroySoon" in transport ? new PipelineQueue(transport) : null;
  }

  /** The HTTP/1 request being answered. */
  get open(): OpenExchange | null {
    for (const exchange of this.exchanges) return exchange;
    return null;
  }

  /** The number of queued HTTP/1 requests. */
  get waiting(): number {
    return this.turns?.size ?? 0;
  }

  /** Whether no request is open or queued. */
  get isQuiet(): boolean {
    return this.exchanges.size === 0 && this.waiting === 0;
  }

  /** Whether the client is to act: send, read or disconnect. */
  get waitsForClient(): boolean {
    if (this.isQuiet) return !this.hasAsked || this.isClosing;
    for (const exchange of this.exchanges) if (!exchange.waitsForClient) return false;
    return this.exchanges.size > 0;
  }

  /** When the latest open request began, or `null`. */
  get latestStartMs(): number | null {
    let latest: number | null = null;
    for (const { startedMs } of this.exchanges) latest = Math.max(latest ?? 0, startedMs);
    return latest;
  }

  /** Whether another HTTP/1 request would queue. */
  get isBusy(): boolean {
    return this.turns !== null && !this.isQuiet;
  }

  /** Whether new requests are discarded. */
  get ignores(): boolean {
    return this.hasFailed || this.#takesNoMore;
  }

  /** Whether the client knows that no more responses follow; closing an HTTP/2 session tells it. */
  get knowsItsEnd(): boolean {
    return this.isHttp2 || this.ignores;
  }

  /** Marks further input as not being requests. */
  fail(): void {
    this.hasFailed = true;
    this.isClosing = true;
    this.failedAtBytes = this.readBytes;
  }

  tookAnswer(): void {
    this.takenMs = performance.now();
    this.controlFrames.answered();
  }

  /** Bytes read. */
  get readBytes(): number {
    const { transport } = this;
    return ("destroySoon" in transport ? transport : transport.socket)?.bytesRead ?? 0;
  }

  /** Whether it sends too much besides requests; after a failure everything counts. */
  isAbusive(nowMs: number, failedBytesMax: number): boolean {
    if (this.hasFailed) return this.readBytes - this.failedAtBytes > failedBytesMax;
    return this.controlFrames.isTooMuch(this.readBytes, nowMs);
  }

  /** Ignores further requests after the last response. */
  takeNoMore(): void {
    this.#takesNoMore = true;
    this.turns?.clear();
    // node:http would create a request and response for each, at ten times the cost of parsing.
    const { parser } = this.transport as { parser?: { onIncoming?: () => number } };
    if (parser?.onIncoming) parser.onIncoming = () => 0;
  }

  /**
   * Refuses pipelined requests above the bound: the open one is answered, and the client retries the others (RFC 9112,
   * section 9.3.2).
   */
  overrun(): void {
    this.takeNoMore();
    this.turns?.pause();
    this.isClosing = true;
  }

  /** The client sends no more; an incomplete HTTP/1 request stays so. */
  cut(): void {
    if (this.waiting > 0) this.turns?.fail(400);
    else if (this.open !== null && !this.open.isComplete) this.open.destroy();
  }

  get isHttp2(): boolean {
    return this.turns === null;
  }

  destroy(): void {
    this.transport.destroy();
  }

  /** Limits the concurrent streams of an HTTP/2 client; refused ones may be retried. */
  restrict(streamsMax: number): void {
    if ("settings" in this.transport) this.transport.settings({ maxConcurrentStreams: streamsMax });
  }

  /** Ends an abusive HTTP/2 session: resets its streams and sends GOAWAY. */
  expel(): void {
    // Deno does not send it when it destroys a session.
    if ("goaway" in this.transport && !this.transport.destroyed) this.transport.goaway(enhanceYourCalm);
    this.transport.destroy();
  }

  /** Half-closes: sends the end, and still reads. */
  half(): void {
    if (!this.isHttp2) (this.transport as Socket).end();
  }

  /** Closes after pending writes. */
  end(): void {
    if ("destroySoon" in this.transport) this.transport.destroySoon();
    else this.transport.close();
  }
}
