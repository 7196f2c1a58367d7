/** An exchange over node:http or node:http2, from the request's headers to the end of the response. */

import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Deadline } from "../deadlines.ts";
import type { Body, Reply } from "../exchange.ts";
import type { RefusalStatus } from "../options.ts";
import { cancelBody, isBodiless, nodeHeaders } from "../reply.ts";
import { BytesSource, type Sink, Source } from "../source.ts";
import type { Connections } from "./connections.ts";
import { fixedBounds } from "./defenses/bounds.ts";
import { EdgeExchange } from "./edge.ts";
import {
  emptyBody,
  headerLines,
  incomplete,
  NodeBody,
  type NodeRequest,
  type NodeResponse,
  readHead,
  tooLarge,
} from "./request.ts";
import type { OpenExchange, ServerConnection } from "./server_connection.ts";

/** The maximum length of an HTTP/2 write: one frame of the default size. */
const chunkBytesMax = 16 * 1024;
const chunkBytesMin = 1024;

const isDeno = "Deno" in globalThis;

/**
 * Returns a source for a body that is sent in chunks, or `null`. Deno copies each write to an HTTP/2 stream, so chunks
 * there fit the client's initial window; on Node, chunks of bytes would cost half as much again.
 */
function sourceFor(body: Reply["body"], http2: ServerHttp2Stream | null): Source | null {
  if (body instanceof Source) return body;
  if (http2 === null || !isDeno || !(body instanceof Uint8Array)) return null;
  const windowBytes = http2.session?.remoteSettings.initialWindowSize ?? 0;
  const chunkBytes = Math.min(Math.max(windowBytes, chunkBytesMin), chunkBytesMax);
  return body.byteLength > chunkBytes ? new BytesSource(body, chunkBytes) : null;
}

// Error codes. Source: RFC 9113, section 7.
const noError = 0x0;
const cancel = 0x8;

class HandlerTimeout extends Error {
  override readonly name = "HandlerTimeout";
}

export class NodeExchange extends EdgeExchange implements OpenExchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string | undefined;
  readonly refusal: RefusalStatus | null;
  readonly connection: ServerConnection;
  deadline: Deadline | null = null;
  /** Whether the client waits for a 100 before it sends the body. */
  awaitsContinue = false;
  /** Whether the request was refused without a surface, which closes an HTTP/1 connection. */
  isRefused = false;
  readonly #connections: Connections;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #http2: ServerHttp2Stream | null;
  readonly #body: NodeBody | null;
  readonly #hasUpgrade: boolean;
  #isBodyRead = false;
  #isTooLarge = false;
  #isSent = false;
  #isClosed = false;
  /** Whether the service, not the client, aborted the response. */
  #isAborted = false;
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
    // Node's HTTP/2 classes are compatible with its HTTP/1 classes.
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
    this.setRequestId(headers.requestId);
    this.connection.controlFrames.creditHeaders(headers.bytes + path.length + query.length);
    const hasBody = stream === null
      ? headers.transferEncoding !== undefined || headers.announcedBytes > 0
      : !stream.endAfterHeaders;
    this.#body = !hasBody ? null : new NodeBody(request, {
      announcedBytes: headers.announcedBytes,
      discardBytesMax: this.edge.bounds.discardBytesMax,
      onChunk: (bytes) => this.connection.controlFrames.creditRequestBody(bytes),
      onOverrun: () => this.destroy(),
    });
  }

  get isComplete(): boolean {
    if (this.#body === null) return true;
    return this.#http2 === null ? this.#request.complete : this.#request.readableEnded;
  }

  get waitsForClient(): boolean {
    return this.#isSent || this.#body?.isBeingRead === true;
  }

  header(name: string): string | undefined {
    const lines = headerLines(this.#request.rawHeaders, name);
    return lines.length === 0 ? undefined : lines.join(", ");
  }

  headerLines(name: string): readonly string[] {
    return headerLines(this.#request.rawHeaders, name);
  }

  readBody(bytesMax: number): Promise<Body> {
    if (this.#isBodyRead) throw new Error("The body has already been read");
    this.#isBodyRead = true;
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

  send(reply: Reply): void {
    if (this.#isSent || this.#isClosed) {
      cancelBody(reply.body);
      if (!this.#isSent) this.#status = reply.status;
    } else {
      try {
        this.#write(reply);
      } catch (error) {
        cancelBody(reply.body);
        this.#sendFault(error);
      }
    }
    this.#isSent = true;
    if (this.#isClosed) this.#finish(true);
  }

  expire(): void {
    if (this.#body?.isBeingRead) {
      this.destroy();
    } else if (this.#isSent) {
      this.#connections.onStalled(this);
    } else {
      if (!this.#isClosed) this.#connections.stalls.add(this, performance.now());
      this.send(this.edge.fault(this, new HandlerTimeout("The handler did not respond in time")));
    }
  }

  destroy(): void {
    this.#isAborted = true;
    if (this.#http2 === null) this.connection.destroy();
    else this.#http2.close(this.#isDiscarding ? noError : cancel);
  }

  onClosed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connections.onResponseEnd(this);
    if (this.#body?.isBeingRead) {
      // The client caused the delay so far; the handler's own time starts now.
      this.#connections.requests.remove(this);
      this.#connections.requests.add(this, performance.now());
    }
    this.#body?.abort();
    this.#source?.cancel();
    // Deno reports a response as finished when it is written, not when it is sent.
    const isReset = this.#http2 !== null && this.#http2.rstCode !== noError;
    const isAborted = this.#isAborted || isReset || !this.#response.writableFinished;
    if (!isAborted) this.connection.onResponseRead();
    else if (!this.#isAborted) this.#connections.onCanceled(this);
    if (this.#isSent) this.#finish(isAborted);
  }

  #write(reply: Reply): void {
    const { status } = reply;
    let { body } = reply;
    const isHead = this.method === "HEAD";
    const isEarly = !this.isComplete;
    const { headers, length } = nodeHeaders(reply, {
      isHead,
      requestId: this.requestIdHeader,
      listenerHeaders: this.edge.headers,
    });
    if (this.#http2 === null && !this.#keepsConnection(isEarly)) {
      headers.push("Connection", "close");
      this.connection.ignoreRequests();
    }
    // Node encodes the headers like the text that follows them. Latin-1 is correct for headers and fastest for ASCII;
    // any other text is sent as bytes.
    if (typeof body === "string" && body.length !== length) body = Buffer.from(body);
    this.#response.writeHead(status, headers);
    this.#isSent = true;
    this.#status = status;
    if (isHead || isBodiless(status)) {
      cancelBody(body);
      body = null;
    }
    this.#connections.onWrite(this);
    // `onWrite` evicted this connection.
    if (this.#isClosed) return cancelBody(body);
    const source = sourceFor(body, this.#http2);
    if (source !== null) {
      this.#pump(source);
      return;
    }
    const bytes = body as string | Uint8Array | null;
    this.#bytes = bytes === null ? 0 : length as number;
    this.connection.controlFrames.creditResponseBody(this.#bytes);
    if (isEarly) this.#respondEarly(bytes);
    else if (bytes === null) this.#response.end();
    else this.#response.end(bytes, "latin1");
  }

  #keepsConnection(isEarly: boolean): boolean {
    // After an upgrade request, node:http discards what it has read, so the next bytes may start within a request.
    if (this.isRefused || this.#hasUpgrade) return false;
    const isLast = this.#connections.isDraining || this.connection.isClosing;
    if (isLast && this.connection.queuedRequests === 0) return false;
    if (!isEarly) return true;
    const announcedBytes = this.#body?.announcedBytes ?? 0;
    return !this.awaitsContinue && !this.#isTooLarge && announcedBytes <= fixedBounds.reuseDiscardBytesMax;
  }

  /**
   * Responds while the request is still arriving. On HTTP/1, ends the response only after the rest is discarded: a
   * close would reset the connection. On HTTP/2, ends it at once without a reset, which clients mishandle.
   */
  #respondEarly(body: string | Uint8Array | null): void {
    const response = this.#response;
    const isHttp2 = this.#http2 !== null;
    if (isHttp2) response.end(body, "latin1");
    else if (body === null) response.flushHeaders();
    else response.write(body, "latin1");
    // The parser no longer reports the end of the request.
    if (this.connection.isInputDiscarded) this.connection.halfClose();
    this.#log(false);
    this.#isDiscarding = true;
    this.#connections.requests.remove(this);
    this.#connections.stalls.remove(this);
    this.#connections.discards.add(this, performance.now());
    this.#body?.discard(() => isHttp2 || response.end());
  }

  /** Sends a source's chunks until it ends, fails or is canceled. */
  #pump(source: Source): void {
    const response = this.#response;
    this.#source = source;
    this.#connections.requests.remove(this);
    this.#connections.stalls.add(this, performance.now());
    const onWritten = (error?: Error | null): void => {
      if (error || response.destroyed) return;
      // Deno reports HTTP/2 writes as done even if the client has stopped reading.
      const socket = isDeno ? this.#http2?.session?.socket : undefined;
      if (socket !== undefined && socket.writableLength > fixedBounds.socketBufferBytesMax) {
        socket.once("drain", onWritten);
      } else source.next(sink);
    };
    const sink: Sink = {
      chunk: (bytes) => {
        if (response.destroyed) return;
        this.#onChunk(bytes.byteLength);
        response.write(bytes, onWritten);
      },
      end: () => {
        if (!response.destroyed) response.end();
      },
      fail: (error) => {
        this.edge.report(error, this);
        this.destroy();
      },
    };
    source.next(sink);
  }

  #onChunk(bytes: number): void {
    const { stalls } = this.#connections;
    const nowMs = performance.now();
    if (this.#bytes > 0) this.connection.lastReadMs = nowMs;
    this.#bytes += bytes;
    this.connection.controlFrames.creditResponseBody(bytes);
    stalls.remove(this);
    if (this.#isClosed) return;
    stalls.add(this, nowMs);
    this.#connections.onWrite(this);
  }

  /** Sends the surface's fault reply, or aborts the response if its headers have been sent. */
  #sendFault(error: unknown): void {
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
    this.#connections.onExchangeEnd(this);
  }

  #log(isAborted: boolean): void {
    if (this.#isLogged) return;
    this.#isLogged = true;
    this.edge.log(this, { status: this.#status, bytes: this.#bytes, aborted: isAborted });
  }
}
