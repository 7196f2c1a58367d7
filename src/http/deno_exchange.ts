/**
 * One request of Deno.serve: its headers, its body with a cap and a time bound of our own.
 *
 * @module
 */

import { BodyBuffer, emptyBody, incomplete, tooLarge } from "./body.ts";
import type { Deadline, Timed } from "./deadlines.ts";
import { type Edge, EdgeExchange, HandlerTimeout, type Peer } from "./edge.ts";
import type { Body, Reply } from "./exchange.ts";
import { dropBody } from "./reply.ts";
import { isHost, parseTarget } from "./target.ts";

/** A client that sends nothing for this long after its answer is ready waits for it. */
const discardPauseMs = 200;

/** An exchange over Deno.serve. */
export class DenoExchange extends EdgeExchange implements Timed {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string | null | undefined;
  deadline: Deadline | null = null;
  /** The client has not sent all of the body, and what it still sends is not wanted. */
  isCutShort = false;
  /** The client went away while its body was read, or before it had all of a stream. */
  isGone = false;
  /** Ends the stream that is being sent. */
  cut: () => void = () => {};
  /** The body that is being read, or was. */
  bodyRead: Promise<Body> | null = null;
  readonly #request: Request;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #hasRead = false;
  #isWhole = false;
  #reply: (reply: Reply) => void = () => {};
  #settleBody: ((body: Body) => void) | null = null;

  constructor(edge: Edge, peer: Peer, request: Request) {
    super(edge, peer);
    this.#request = request;
    this.method = request.method;
    const { path, query, authority } = parseTarget(request.url);
    this.path = path;
    this.query = query;
    const sent = request.headers.get("host");
    this.host = sent === null
      ? undefined
      : isHost(sent) && authority !== null && isHost(authority)
      ? authority
      : null;
    this.adopt(request.headers.get("x-request-id") ?? undefined);
  }

  /** The handler's reply, or the fault reply when it has not answered in time. */
  answer(): Promise<Reply> {
    return new Promise((resolve) => {
      let isAnswered = false;
      this.#reply = (reply) => {
        // Too late, and what it has open is closed.
        if (isAnswered) dropBody(reply.body);
        isAnswered = true;
        resolve(reply);
      };
      this.edge.answer(this).then(this.#reply);
    });
  }

  /** The request's time is up: a body that is being read is given up, or the handler is. */
  expire(): void {
    this.isCutShort = true;
    if (this.#settleBody !== null) {
      this.#settleBody(incomplete);
    } else {
      this.#reply(this.edge.fault(this, new HandlerTimeout("The handler has not answered in time")));
    }
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined;
  }

  readBody(bytesMax: number): Promise<Body> {
    if (this.#hasRead) throw new Error("The body has been read already");
    this.#hasRead = true;
    const announced = Number(this.header("content-length") ?? NaN);
    if (announced > bytesMax) return Promise.resolve(tooLarge);
    this.bodyRead = new Promise((resolve) => {
      this.#settleBody = (body) => {
        this.#settleBody = null;
        resolve(body);
      };
      if (announced > 0) this.#readAnnounced();
      else this.#readUnannounced(bytesMax);
    });
    return this.bodyRead;
  }

  /** Deno reads a whole body much faster than its chunks, and hyper holds the client to the length. */
  #readAnnounced(): void {
    this.#request.bytes().then((bytes) => {
      this.#isWhole = true;
      this.#settleBody?.({ kind: "complete", bytes });
    }, () => {
      this.isGone = true;
      this.#settleBody?.(incomplete);
    });
  }

  async #readUnannounced(bytesMax: number): Promise<void> {
    if (this.#request.body === null) return this.#settleBody?.(emptyBody);
    const buffer = new BodyBuffer(bytesMax, 0);
    for (let chunk = await this.#next(); chunk !== "end"; chunk = await this.#next()) {
      if (chunk === null) return this.#settleBody?.(incomplete);
      if (!buffer.add(chunk)) return this.#settleBody?.(tooLarge);
    }
    this.#settleBody?.(buffer.take());
  }

  /**
   * Reads on and throws away what comes, within bounds, before an early answer goes out: hyper closes the
   * connection right behind such an answer, and a client that is still sending would lose it.
   */
  async discard(): Promise<void> {
    if (this.#isWhole || this.isGone || this.isCutShort || !this.#mayHaveBody) return;
    // Touching the body would ask the client for it.
    const isAwaited = this.#reader === null && this.header("expect") !== undefined;
    if (!isAwaited && this.#request.body === null) return;
    this.isCutShort = true;
    if (isAwaited) return;
    const { discardBytesMax, discardTimeoutMs } = this.edge.bounds;
    const untilMs = performance.now() + discardTimeoutMs;
    for (let bytes = 0; bytes <= discardBytesMax && performance.now() < untilMs;) {
      const chunk = await Promise.race([this.#next(), pause(discardPauseMs)]);
      if (chunk === null) return;
      if (chunk === "end") {
        this.isCutShort = false;
        return;
      }
      bytes += chunk.byteLength;
    }
  }

  get #mayHaveBody(): boolean {
    return this.method !== "GET" && this.method !== "HEAD" && this.header("content-length") !== "0";
  }

  /** The next chunk, or `null` when the client has gone. */
  async #next(): Promise<Uint8Array | "end" | null> {
    this.#reader ??= (this.#request.body as ReadableStream<Uint8Array>).getReader();
    try {
      const result = await this.#reader.read();
      if (!result.done) return result.value;
      this.#isWhole = true;
      return "end";
    } catch {
      this.isGone = true;
      return null;
    }
  }
}

/** Resolves after so many milliseconds. */
function pause(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(resolve, ms, null));
}
