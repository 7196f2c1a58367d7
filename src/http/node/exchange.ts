/** One request on node:http or node:http2, from its headers to the last byte of its response. */

import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Deadline } from "../deadlines.ts";
import type { Body, Reply } from "../exchange.ts";
import type { RefusalStatus } from "../options.ts";
import { dropBody, headersOf, isBodiless } from "../reply.ts";
import { BytesSource, type Sink, type Source, sourceOf, WrongLength } from "../source.ts";
import { emptyBody, incomplete, NodeBody, tooLarge } from "./body.ts";
import type { Connections } from "./connections.ts";
import { EdgeExchange } from "./edge.ts";
import { headerLines, type NodeRequest, type NodeResponse, readHead } from "./headers.ts";
import type { OpenExchange, ServerConnection } from "./server_connection.ts";
import { fixedBounds } from "./defences/bounds.ts";

/** The unread part of an answered request. */
interface Unread {
  /** The client waits for a 100 before it sends the body. */
  readonly awaitsContinue: boolean;
  readonly isTooLarge: boolean;
  /** `NaN` if not announced. */
  readonly announcedBytes: number;
}

/** An answered request; `unread` is `null` if it is complete. */
interface Answered {
  /** Refused before any surface saw it. */
  readonly isRefused: boolean;
  readonly hasUpgrade: boolean;
  readonly unread: Unread | null;
}

/** Whether the connection stays usable, and is wanted, for another request. */
export function isKept(
  connection: Pick<ServerConnection, "isClosing" | "waiting">,
  isDraining: boolean,
  { isRefused, hasUpgrade, unread }: Answered,
): boolean {
  // After an upgrade request node:http discards what it has read, so the next bytes may start mid-request.
  if (isRefused || hasUpgrade) return false;
  // Queued requests are still answered.
  if ((isDraining || connection.isClosing) && connection.waiting === 0) return false;
  if (unread === null) return true;
  return !unread.awaitsContinue && !unread.isTooLarge &&
    unread.announcedBytes <= fixedBounds.keptDiscardBytesMax;
}

/** Bytes per HTTP/2 write: at most one usual frame. */
const pieceBytesMax = 16 * 1024;
const pieceBytesMin = 1024;

const isDeno = "Deno" in globalThis;

/**
 * The source of a body that is sent in pieces, or `null`. Deno copies writes to an HTTP/2 stream, so there a piece is
 * at most the stream's window. Node does not copy, and pieces would cost half as much again.
 */
export function sourceFor(body: Reply["body"], http2: ServerHttp2Stream | null): Source | null {
  if (http2 === null || !isDeno || !(body instanceof Uint8Array)) return sourceOf(body);
  const windowBytes = http2.session?.remoteSettings.initialWindowSize ?? 0;
  const pieceBytes = Math.min(Math.max(windowBytes, pieceBytesMin), pieceBytesMax);
  return body.byteLength > pieceBytes ? new BytesSource(body, pieceBytes) : null;
}

/** Options of {@linkcode Pump}. */
export interface PumpOptions {
  readonly response: ServerResponse;
  /** `null` over HTTP/1. */
  readonly http2: ServerHttp2Stream | null;
  /** `null` if not announced. */
  readonly length: number | null;
  /** Called with the length of each piece before it is written. */
  readonly onPiece: (bytes: number) => void;
  /** Called when the source fails, or with {@linkcode WrongLength}; the response is incomplete then. */
  readonly onFailure: (error: unknown) => void;
}

/** Sends a source until it ends or is canceled. */
export class Pump implements Sink {
  readonly #source: Source;
  readonly #options: PumpOptions;
  #sent = 0;
  // The kernel has the piece, or the response is closed and its source canceled.
  readonly #written = (error?: Error | null): void => {
    const { response, http2 } = this.#options;
    if (error || response.destroyed) return;
    // Deno reports HTTP/2 writes as sent even if the client has stopped reading.
    const socket = isDeno ? http2?.session?.socket : undefined;
    if (socket !== undefined && socket.writableLength > fixedBounds.heldBytesMax) {
      socket.once("drain", this.#written);
    } else this.#source.next(this);
  };

  constructor(source: Source, options: PumpOptions) {
    this.#source = source;
    this.#options = options;
    source.next(this);
  }

  piece(bytes: Uint8Array): void {
    const { response, length, onPiece } = this.#options;
    if (response.destroyed) return;
    this.#sent += bytes.byteLength;
    // Excess bytes would be read as the next response.
    if (length !== null && this.#sent > length) return this.#abandon("longer");
    onPiece(bytes.byteLength);
    response.write(bytes, this.#written);
  }

  end(): void {
    const { response, length } = this.#options;
    if (response.destroyed) return;
    if (length !== null && this.#sent < length) this.#abandon("shorter");
    else response.end();
  }

  fail(error: unknown): void {
    this.#options.onFailure(error);
  }

  #abandon(how: "longer" | "shorter"): void {
    this.#options.onFailure(new WrongLength(how));
  }
}

// RFC 9113, section 7.
const noError = 0x0;
const cancel = 0x8;

class HandlerTimeout extends Error {
  override readonly name = "HandlerTimeout";
}

/** An exchange over Node's servers. */
export class NodeExchange extends EdgeExchange implements OpenExchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string | undefined;
  /** The status that its headers are refused with. */
  readonly refusal: RefusalStatus | null;
  readonly connection: ServerConnection;
  deadline: Deadline | null = null;
  /** The client waits for a 100 before it sends the body. */
  awaitsContinue = false;
  /** Refused before any surface; an HTTP/1 connection is not reused then. */
  isRefused = false;
  readonly #connections: Connections;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #http2: ServerHttp2Stream | null;
  readonly #body: NodeBody | null;
  readonly #hasUpgrade: boolean;
  #hasRead = false;
  #isTooLarge = false;
  #isSent = false;
  #isClosed = false;
  #isCut = false;
  #isDiscarding = false;
  #isLogged = false;
  #status = 0;
  #bytes = 0;
  #source: Source | null = null;
  #isFinished = false;

  constructor(
    connections: Connections,
    options: { connection: ServerConnection; request: NodeRequest; response: NodeResponse },
  ) {
    super(connections.edge, options.connection.peer);
    this.#connections = connections;
    this.connection = options.connection;
    // Node's HTTP/2 classes are compatible with HTTP/1's.
    const request = options.request as IncomingMessage;
    const stream = "stream" in options.request ? options.request.stream as ServerHttp2Stream : null;
    this.#request = request;
    this.#response = options.response as ServerResponse;
    this.#http2 = stream;
    this.method = request.method as string;
    const { path, query, host, refusal, headers } = readHead(request, this.edge.bounds);
    this.path = path;
    this.query = query;
    this.host = host ?? undefined;
    this.refusal = refusal;
    this.#hasUpgrade = headers.hasUpgrade;
    this.adopt(headers.requestId);
    this.connection.controlFrames.asked(headers.bytes + path.length + query.length);
    const hasBody = stream === null
      ? headers.transferEncoding !== undefined || headers.announcedBytes > 0
      : !stream.endAfterHeaders;
    this.#body = !hasBody ? null : new NodeBody(request, {
      announcedBytes: headers.announcedBytes,
      discardBytesMax: this.edge.bounds.discardBytesMax,
      onPiece: (bytes) => this.connection.controlFrames.received(bytes),
      onOverrun: () => this.destroy(),
    });
  }

  /** Whether the request is complete. */
  get isComplete(): boolean {
    if (this.#body === null) return true;
    return this.#http2 === null ? this.#request.complete : this.#request.readableEnded;
  }

  /** Whether the request waits for the client to send or to read. */
  get waitsForClient(): boolean {
    return this.#isSent || this.#body?.isAwaited === true;
  }

  header(name: string): string | undefined {
    const lines = headerLines(this.#request.rawHeaders, name);
    return lines.length === 0 ? undefined : lines.join(", ");
  }

  headerLines(name: string): readonly string[] {
    return headerLines(this.#request.rawHeaders, name);
  }

  readBody(bytesMax: number): Promise<Body> {
    if (this.#hasRead) throw new Error("The body has been read already");
    this.#hasRead = true;
    if (this.#isClosed) return Promise.resolve(incomplete);
    if (this.#body === null) return Promise.resolve(emptyBody);
    if (this.#body.announcedBytes > bytesMax) {
      this.#isTooLarge = true;
      return Promise.resolve(tooLarge);
    }
    if (this.awaitsContinue) {
      this.awaitsContinue = false;
      this.#response.writeContinue();
    }
    return this.#body.read(bytesMax);
  }

  /** Sends the reply, or drops it if the client is gone. */
  send(reply: Reply): void {
    if (this.#isSent || this.#isClosed) {
      dropBody(reply.body);
      if (!this.#isSent) this.#status = reply.status;
    } else {
      try {
        this.#write(reply);
      } catch (error) {
        dropBody(reply.body);
        this.#giveUp(error);
      }
    }
    this.#isSent = true;
    if (this.#isClosed) this.#finish(true);
  }

  /** Expires the request. */
  expire(): void {
    if (this.#body?.isAwaited) {
      this.destroy();
    } else if (this.#isSent) {
      this.#connections.stalled(this);
    } else {
      if (!this.#isClosed) this.#connections.stalls.add(this, performance.now());
      this.send(this.edge.fault(this, new HandlerTimeout("The handler has not answered in time")));
    }
  }

  /** Closes the HTTP/1 connection or the HTTP/2 stream. */
  destroy(): void {
    this.#isCut = true;
    if (this.#http2 === null) this.connection.destroy();
    else this.#http2.close(this.#isDiscarding ? noError : cancel);
  }

  /** The response has ended: sent or aborted. */
  closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connections.ended(this);
    if (this.#body?.isAwaited) {
      // The handler waited for the client until now; its own time starts.
      this.#connections.requests.remove(this);
      this.#connections.requests.add(this, performance.now());
    }
    this.#body?.cut();
    this.#source?.cancel();
    // Deno reports a response as finished when it is written, not sent.
    const isReset = this.#http2 !== null && this.#http2.rstCode !== noError;
    const isAborted = this.#isCut || isReset || !this.#response.writableFinished;
    if (!isAborted) this.connection.tookAnswer();
    else if (!this.#isCut) this.#connections.takenBack(this);
    if (this.#isSent) this.#finish(isAborted);
  }

  #write(reply: Reply): void {
    const { status } = reply;
    let { body } = reply;
    const isHead = this.method === "HEAD";
    const isUnread = !this.isComplete;
    const { headers, length } = headersOf(reply, {
      isHead,
      requestId: this.requestIdHeader,
      listenerHeaders: this.edge.headers,
    });
    if (this.#http2 === null && !this.#isKept(isUnread)) {
      headers.push("Connection", "close");
      this.connection.takeNoMore();
    }
    // Node encodes the headers like the text after them: Latin-1 is right for headers and fastest for ASCII; other text
    // is sent as bytes.
    if (typeof body === "string" && body.length !== length) body = Buffer.from(body);
    this.#response.writeHead(status, headers);
    this.#isSent = true;
    this.#status = status;
    if (isHead || isBodiless(status)) {
      dropBody(body);
      body = null;
    }
    this.#connections.given(this);
    // It exceeded the bound on unread responses.
    if (this.#isClosed) return dropBody(body);
    const source = sourceFor(body, this.#http2);
    if (source !== null) {
      this.#pump(source, length);
      return;
    }
    const bytes = body as string | Uint8Array | null;
    this.#bytes = bytes === null ? 0 : length as number;
    this.connection.controlFrames.sent(this.#bytes);
    if (isUnread) this.#answerEarly(bytes);
    else if (bytes === null) this.#response.end();
    else this.#response.end(bytes, "latin1");
  }

  #isKept(isUnread: boolean): boolean {
    const { awaitsContinue, isRefused } = this;
    const announcedBytes = this.#body?.announcedBytes ?? 0;
    const unread = isUnread ? { awaitsContinue, isTooLarge: this.#isTooLarge, announcedBytes } : null;
    const answered = { isRefused, hasUpgrade: this.#hasUpgrade, unread };
    return isKept(this.connection, this.#connections.isDraining, answered);
  }

  /**
   * Responds while the request is still arriving. Closing now would reset an HTTP/1 connection and lose the response,
   * so it stays unfinished until the rest is discarded. An HTTP/2 response is complete at once, but clients mishandle a
   * reset while they send.
   */
  #answerEarly(body: string | Uint8Array | null): void {
    const response = this.#response;
    const isHttp2 = this.#http2 !== null;
    if (isHttp2) response.end(body, "latin1");
    else if (body === null) response.flushHeaders();
    else response.write(body, "latin1");
    // A broken request has no end to wait for.
    if (this.connection.hasFailed) this.connection.half();
    this.#log(false);
    this.#isDiscarding = true;
    this.#connections.requests.remove(this);
    this.#connections.stalls.remove(this);
    this.#connections.discards.add(this, performance.now());
    this.#body?.discard(() => isHttp2 || response.end());
  }

  #pump(source: Source, length: number | null): void {
    const { requests, stalls } = this.#connections;
    this.#source = source;
    requests.remove(this);
    stalls.add(this, performance.now());
    const onPiece = (bytes: number): void => {
      const nowMs = performance.now();
      if (this.#bytes > 0) this.connection.takenMs = nowMs;
      this.#bytes += bytes;
      this.connection.controlFrames.sent(bytes);
      stalls.remove(this);
      if (this.#isClosed) return;
      stalls.add(this, nowMs);
      this.#connections.given(this);
    };
    const onFailure = (error: unknown): void => {
      this.edge.report(error, this);
      this.destroy();
    };
    new Pump(source, { response: this.#response, http2: this.#http2, length, onPiece, onFailure });
  }

  /** A reply failed: sends the surface's fault reply if still possible. */
  #giveUp(error: unknown): void {
    const reply = this.edge.fault(this, error);
    try {
      if (this.#response.headersSent) this.destroy();
      else this.#write(reply);
    } catch {
      this.#status = reply.status;
      this.destroy();
    }
  }

  #finish(isAborted: boolean): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#log(isAborted);
    this.#connections.settled(this);
  }

  #log(isAborted: boolean): void {
    if (this.#isLogged) return;
    this.#isLogged = true;
    this.edge.log(this, { status: this.#status, bytes: this.#bytes, aborted: isAborted });
  }
}
