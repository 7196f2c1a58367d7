/** A listener's connection: an HTTP/1.1 socket or an HTTP/2 session. */

import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Reply } from "../exchange.ts";
import type { Deadline, Timed } from "../deadlines.ts";
import type { Peer } from "./edge.ts";
import { ControlFrameBudget, PipelineQueue } from "./defenses/by_connection.ts";

// An error code. Source: RFC 9113, section 7.
const enhanceYourCalm = 0xb;

/** A request from the end of its headers until the end of its response. */
export interface OpenExchange extends Timed {
  readonly connection: ServerConnection;
  readonly startedMs: number;
  readonly requestId: string;
  /** Whether the request has arrived in full. */
  readonly isComplete: boolean;
  /** Whether the client must send more of the request or read the response. */
  readonly waitsForClient: boolean;
  /** Sends the reply, or discards it if the response is closed or another reply was sent. */
  send(reply: Reply): void;
  expire(): void;
  /** Closes the HTTP/1 connection or the HTTP/2 stream. */
  destroy(): void;
  onClosed(): void;
}

export class ServerConnection implements Timed {
  deadline: Deadline | null = null;
  readonly peer: Peer;
  readonly transport: Socket | ServerHttp2Session;
  /** The open requests; HTTP/1 has at most one. */
  readonly exchanges = new Set<OpenExchange>();
  /** The queued HTTP/1 requests; `null` on HTTP/2. */
  readonly pipeline: PipelineQueue | null;
  /** Whether the input can no longer be parsed as requests. */
  isInputDiscarded = false;
  #receivedBytesAtDiscard = 0;
  isClosed = false;
  readonly controlFrames: ControlFrameBudget = new ControlFrameBudget(performance.now());
  /** The time when the client last read part of a response; at first, when it connected. */
  lastReadMs: number = performance.now();
  hasSentRequest = false;
  /** Whether the connection closes after the current responses. */
  isClosing = false;
  #isLastResponse = false;

  constructor(transport: Socket | ServerHttp2Session, peer: Peer) {
    this.transport = transport;
    this.peer = peer;
    this.pipeline = "destroySoon" in transport ? new PipelineQueue(transport) : null;
  }

  get isHttp2(): boolean {
    return this.pipeline === null;
  }

  get current(): OpenExchange | null {
    for (const exchange of this.exchanges) return exchange;
    return null;
  }

  get queuedRequests(): number {
    return this.pipeline?.size ?? 0;
  }

  get isIdle(): boolean {
    return this.exchanges.size === 0 && this.queuedRequests === 0;
  }

  /** Whether the client has yet to send its first request, to send or read the rest of all exchanges, or to close. */
  get waitsForClient(): boolean {
    if (this.isIdle) return !this.hasSentRequest || this.isClosing;
    for (const exchange of this.exchanges) if (!exchange.waitsForClient) return false;
    return this.exchanges.size > 0;
  }

  get latestStartMs(): number | null {
    let latest: number | null = null;
    for (const { startedMs } of this.exchanges) latest = Math.max(latest ?? 0, startedMs);
    return latest;
  }

  /** Whether another HTTP/1 request must wait. */
  get isBusy(): boolean {
    return this.pipeline !== null && !this.isIdle;
  }

  get ignoresRequests(): boolean {
    return this.isInputDiscarded || this.#isLastResponse;
  }

  /** Whether a close loses no request: HTTP/1 already ignores further requests, or HTTP/2 announces it by GOAWAY. */
  get canCloseCleanly(): boolean {
    return this.isHttp2 || this.ignoresRequests;
  }

  discardInput(): void {
    this.isInputDiscarded = true;
    this.isClosing = true;
    this.#receivedBytesAtDiscard = this.receivedBytes;
  }

  onResponseRead(): void {
    this.lastReadMs = performance.now();
    this.controlFrames.creditResponse();
  }

  get receivedBytes(): number {
    const { transport } = this;
    return ("destroySoon" in transport ? transport : transport.socket)?.bytesRead ?? 0;
  }

  /** Updates the control-frame budget; returns whether the client has sent too many bytes that belong to no request. */
  isAbusive(nowMs: number, discardBytesMax: number): boolean {
    if (this.isInputDiscarded) return this.receivedBytes - this.#receivedBytesAtDiscard > discardBytesMax;
    return this.controlFrames.isExceeded(this.receivedBytes, nowMs);
  }

  /** Ignores further requests, because the current response is the last. */
  ignoreRequests(): void {
    this.#isLastResponse = true;
    this.pipeline?.clear();
    // Otherwise node:http creates a request and a response for each ignored one, at ten times the cost of parsing.
    const { parser } = this.transport as { parser?: { onIncoming?: () => number } };
    if (parser?.onIncoming) parser.onIncoming = () => 0;
  }

  /** Drops the pipelined requests, which the client should retry on a new connection (RFC 9112, section 9.3.2). */
  dropPipeline(): void {
    this.ignoreRequests();
    this.pipeline?.pause();
    this.isClosing = true;
  }

  /** Handles the end of HTTP/1 input, after which an incomplete request stays incomplete. */
  onInputEnd(): void {
    if (this.queuedRequests > 0) this.pipeline?.refuseIncomplete(400);
    else if (this.current !== null && !this.current.isComplete) this.current.destroy();
  }

  /** Limits the concurrent streams of an HTTP/2 client, which may retry refused ones. */
  limitStreams(streamsMax: number): void {
    if ("settings" in this.transport) this.transport.settings({ maxConcurrentStreams: streamsMax });
  }

  /** Closes an HTTP/1 connection after pending writes, and an HTTP/2 session after its open streams. */
  close(): void {
    if ("destroySoon" in this.transport) this.transport.destroySoon();
    else this.transport.close();
  }

  halfClose(): void {
    if (!this.isHttp2) (this.transport as Socket).end();
  }

  destroy(): void {
    this.transport.destroy();
  }

  evict(): void {
    // Deno sends no GOAWAY when it destroys a session.
    if ("goaway" in this.transport && !this.transport.destroyed) this.transport.goaway(enhanceYourCalm);
    this.transport.destroy();
  }
}
