/**
 * One request of a node:http or node:http2 server: reads its headers lazily, its body with a cap, and writes
 * its reply.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from "node:http2";
import { BodyBuffer, emptyBody, incomplete, tooLarge } from "./body.ts";
import type { Deadline, Timed } from "./deadlines.ts";
import { EdgeExchange, HandlerTimeout } from "./edge.ts";
import type { Body, Reply } from "./exchange.ts";
import type { Connection, Connections } from "./node_connection.ts";
import { dropBody, isBodiless, lengthOf } from "./reply.ts";
import { isHost, parseTarget } from "./target.ts";

/** Node's request, of either protocol. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;
/** Node's response, of either protocol. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

// RFC 9113, section 7.
const noError = 0x0;
const cancel = 0x8;

/** A body up to this length, announced, is thrown away so that the connection can be kept. */
const keptDiscardBytesMax = 256 * 1024;

// deno-lint-ignore no-control-regex -- what is outside of ASCII is what it looks for
const nonAscii = /[^\x00-\x7f]/;

/** An exchange over Node's servers. */
export class NodeExchange extends EdgeExchange implements Timed {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string | null | undefined;
  readonly connection: Connection;
  deadline: Deadline | null = null;
  /** The client waits for a 100 before it sends the body. */
  awaitsContinue = false;
  /** All header lines together. */
  headerBytes = 0;
  readonly #connections: Connections;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #stream: ServerHttp2Stream | null;
  /** Announced by Content-Length; NaN when it is not. */
  #announcedBytes = NaN;
  #hasBody = false;
  #isListening = false;
  #buffer: BodyBuffer | null = null;
  #resolveBody: ((body: Body) => void) | null = null;
  #hasRead = false;
  #discardedBytes = 0;
  #isDiscarding = false;
  #isSent = false;
  #isClosed = false;
  #isLogged = false;
  #status = 0;
  #bytes = 0;
  #resumeStream: (() => void) | null = null;

  constructor(
    connections: Connections,
    options: { connection: Connection; request: NodeRequest; response: NodeResponse },
  ) {
    super(connections.edge, options.connection.peer);
    this.#connections = connections;
    this.connection = options.connection;
    // Node made the HTTP/2 classes to be used like the HTTP/1 ones.
    const request = options.request as IncomingMessage;
    this.#request = request;
    this.#response = options.response as ServerResponse;
    this.#stream = "stream" in options.request ? options.request.stream as ServerHttp2Stream : null;
    this.method = request.method as string;
    const url = request.url as string;
    const { path, query, authority } = parseTarget(url);
    this.path = path;
    this.query = query;
    this.host = this.#readHeaders(authority);
  }

  /** Whether the whole request has arrived. */
  get isComplete(): boolean {
    return this.#stream === null ? this.#request.complete : !this.#hasBody || this.#request.readableEnded;
  }

  header(name: string): string | undefined {
    const { rawHeaders } = this.#request;
    let value: string | undefined;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const candidate = rawHeaders[index] as string;
      if (candidate.length !== name.length) continue;
      if (candidate !== name && candidate.toLowerCase() !== name) continue;
      const next = rawHeaders[index + 1] as string;
      value = value === undefined ? next : `${value}, ${next}`;
    }
    return value;
  }

  readBody(bytesMax: number): Promise<Body> {
    if (this.#hasRead) throw new Error("The body has been read already");
    this.#hasRead = true;
    if (this.#announcedBytes > bytesMax) return Promise.resolve(tooLarge);
    if (this.#isClosed) return Promise.resolve(incomplete);
    if (!this.#hasBody) return Promise.resolve(emptyBody);
    if (this.awaitsContinue) {
      this.awaitsContinue = false;
      this.#response.writeContinue();
    }
    this.#buffer = new BodyBuffer(bytesMax, this.#announcedBytes || 0);
    return new Promise((resolve) => {
      this.#resolveBody = resolve;
      this.#listen();
    });
  }

  /** Sends the reply, or lets go of it when the client is gone. */
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

  /** The request's time is up. */
  expire(): void {
    if (this.#resolveBody !== null || this.#isSent) {
      this.destroy();
    } else {
      this.#connections.stalls.add(this, performance.now());
      this.send(this.edge.fault(this, new HandlerTimeout("The handler has not answered in time")));
    }
  }

  /** Closes the HTTP/1 connection, or the HTTP/2 stream. */
  destroy(): void {
    if (this.#stream === null) this.connection.destroy();
    else this.#stream.close(cancel);
  }

  /** The response is closed: sent, or cut off. */
  closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connections.ended(this);
    this.#settleBody(incomplete);
    this.#resumeStream?.();
    if (this.#isSent) this.#finish(!this.#response.writableFinished);
  }

  /** `host`, and what else is wanted of each request, in one pass over the headers. */
  #readHeaders(authority: string | null): string | null | undefined {
    const { rawHeaders } = this.#request;
    let host: string | null | undefined;
    let requestId: string | undefined;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = rawHeaders[index] as string;
      const value = rawHeaders[index + 1] as string;
      this.headerBytes += name.length + value.length + 4;
      switch (name.length) {
        case 4:
          if (name.toLowerCase() === "host") host = host === undefined ? value : null;
          break;
        case 10:
          if (name === ":authority") authority = value;
          break;
        case 12:
          if (requestId === undefined && name.toLowerCase() === "x-request-id") requestId = value;
          break;
        case 14:
          if (name.toLowerCase() === "content-length") this.#announcedBytes = Number(value);
          break;
        case 17:
          if (name.toLowerCase() === "transfer-encoding") this.#hasBody = true;
          break;
      }
    }
    this.adopt(requestId);
    if (this.#stream !== null) this.#hasBody = !this.#stream.endAfterHeaders;
    else if (this.#announcedBytes > 0) this.#hasBody = true;
    return this.#authority(authority, host);
  }

  #authority(authority: string | null, host: string | null | undefined): string | null | undefined {
    if (host === null) return null;
    if (this.#stream !== null && authority !== null && host !== undefined && host !== authority) return null;
    const named = authority ?? host;
    if (named === undefined) return this.#request.httpVersion === "1.0" ? undefined : null;
    return isHost(named) ? named : null;
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    this.#request.on("data", (chunk: Uint8Array) => this.#onData(chunk));
    this.#request.on("end", () => this.#onEnd());
  }

  #onData(chunk: Uint8Array): void {
    if (this.#buffer !== null) {
      if (this.#buffer.add(chunk)) return;
      this.#settleBody(tooLarge);
    }
    this.#discardedBytes += chunk.byteLength;
    if (this.#discardedBytes > this.edge.bounds.discardBytesMax) this.destroy();
  }

  #onEnd(): void {
    if (this.#buffer !== null) this.#settleBody(this.#buffer.take());
    if (this.#isDiscarding) this.#response.end();
  }

  #settleBody(body: Body): void {
    this.#buffer = null;
    const resolve = this.#resolveBody;
    if (resolve === null) return;
    this.#resolveBody = null;
    resolve(body);
  }

  #write(reply: Reply): void {
    const { status } = reply;
    let { body } = reply;
    const headers: string[] = [];
    let isAscii = !nonAscii.test(this.requestIdHeader);
    for (const name in reply.headers) {
      const value = reply.headers[name] as string;
      if (nonAscii.test(value)) isAscii = false;
      headers.push(name, value);
    }
    headers.push("X-Request-Id", this.requestIdHeader);
    const isHead = this.method === "HEAD";
    const length = lengthOf(body);
    if (length !== null && !isBodiless(status) && !(isHead && body === null)) {
      headers.push("Content-Length", String(length));
    }
    const isUnread = this.#hasBody && !this.isComplete;
    if (this.#stream === null && this.#mustClose(isUnread)) headers.push("Connection", "close");
    // Node would write the headers in the encoding of the text that follows them.
    if (!isAscii && typeof body === "string") body = Buffer.from(body);
    this.#response.writeHead(status, headers);
    this.#isSent = true;
    this.#status = status;
    if (isHead || isBodiless(status)) {
      dropBody(body);
      body = null;
    }
    if (body instanceof ReadableStream) {
      this.#pump(body);
      return;
    }
    this.#bytes = body === null ? 0 : length as number;
    if (!isUnread) this.#response.end(body ?? undefined);
    else if (this.#stream === null) this.#answerEarly(body);
    else this.#answerStreamEarly(body);
  }

  #mustClose(isUnread: boolean): boolean {
    return this.#connections.isDraining || this.connection.isClosing ||
      (isUnread && (this.awaitsContinue || !(this.#announcedBytes <= keptDiscardBytesMax)));
  }

  /**
   * Answers while the request still comes. Closing now would make the kernel reset the connection and the
   * client lose the answer, so the response is left unfinished until the rest has been read and thrown away.
   */
  #answerEarly(body: string | Uint8Array | null): void {
    if (body === null) this.#response.flushHeaders();
    else this.#response.write(body);
    this.#isDiscarding = true;
    this.#log(false);
    this.#connections.requests.remove(this);
    this.#connections.stalls.remove(this);
    this.#connections.discards.add(this, performance.now());
    this.#listen();
    this.#request.resume();
  }

  /** HTTP/2 has flow control: what has not been read stays with the client until the stream is reset. */
  #answerStreamEarly(body: string | Uint8Array | null): void {
    this.#response.once("finish", () => this.#stream?.close(noError));
    this.#response.end(body ?? undefined);
  }

  async #pump(stream: ReadableStream<Uint8Array>): Promise<void> {
    const { stalls, requests } = this.#connections;
    const reader = stream.getReader();
    requests.remove(this);
    try {
      while (!this.#isClosed) {
        const { done, value } = await reader.read();
        if (done) {
          this.#response.end();
          return;
        }
        if (this.#isClosed) break;
        stalls.remove(this);
        stalls.add(this, performance.now());
        this.#bytes += value.byteLength;
        if (!this.#response.write(value)) await this.#drained();
      }
      await reader.cancel();
    } catch (error) {
      this.edge.report(error, this);
      this.destroy();
    }
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#resumeStream = resolve;
      this.#response.once("drain", resolve);
    });
  }

  /** A reply could not be written: the surface's fault reply goes out, if that still can. */
  #giveUp(error: unknown): void {
    const reply = this.edge.fault(this, error);
    if (this.#response.headersSent) return this.destroy();
    try {
      this.#write(reply);
    } catch {
      this.#status = reply.status;
      this.destroy();
    }
  }

  #finish(isAborted: boolean): void {
    this.#log(isAborted);
    this.#connections.settled();
  }

  #log(isAborted: boolean): void {
    if (this.#isLogged) return;
    this.#isLogged = true;
    this.edge.log(this, { status: this.#status, bytes: this.#bytes, aborted: isAborted });
  }
}
