/**
 * The listener on Deno.serve: plain HTTP/1.1 behind an edge, on a loopback or private address. Loaded on Deno
 * only.
 *
 * Deno.serve has no bounds for silent connections, slow headers or idle ones, sets its own for the size of
 * headers, and answers malformed HTTP by itself, without `X-Request-Id`; the edge before it stands for those.
 *
 * @module
 */

import { BodyBuffer, emptyBody, incomplete, tooLarge } from "./body.ts";
import { type Deadline, Deadlines, type Timed } from "./deadlines.ts";
import { Edge, EdgeExchange, HandlerTimeout, type Peer } from "./edge.ts";
import type { Body, Reply } from "./exchange.ts";
import type { Listener, ListenOptions } from "./options.ts";
import { dropBody, isBodiless, lengthOf } from "./reply.ts";
import { isHost, parseTarget } from "./target.ts";

/** A client that sends nothing for this long after its answer is ready waits for it. */
const discardPauseMs = 200;

class DenoExchange extends EdgeExchange implements Timed {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string | null | undefined;
  deadline: Deadline | null = null;
  /** The client has not sent all of the body, and what it still sends is not wanted. */
  isCutShort = false;
  /** The client went away while its body was read. */
  isGone = false;
  readonly #request: Request;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #hasRead = false;
  #isWhole = false;
  #reply: (reply: Reply) => void = () => {};
  #cutBody: ((body: Body) => void) | null = null;

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
      this.#reply = resolve;
      this.edge.answer(this).then(resolve);
    });
  }

  /** The request's time is up: a body that is being read is given up, or the handler is. */
  expire(): void {
    this.isCutShort = true;
    if (this.#cutBody !== null && !this.#isWhole) {
      this.#cutBody(incomplete);
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
    return new Promise((resolve) => {
      this.#cutBody = resolve;
      if (announced > 0) this.#readAnnounced(resolve);
      else this.#readUnannounced(resolve, bytesMax);
    });
  }

  /** Deno reads a whole body much faster than its chunks, and hyper holds the client to the length. */
  #readAnnounced(resolve: (body: Body) => void): void {
    this.#request.bytes().then((bytes) => {
      this.#isWhole = true;
      resolve({ kind: "complete", bytes });
    }, () => {
      this.isGone = true;
      resolve(incomplete);
    });
  }

  async #readUnannounced(resolve: (body: Body) => void, bytesMax: number): Promise<void> {
    if (this.#request.body === null) return resolve(emptyBody);
    const buffer = new BodyBuffer(bytesMax, 0);
    for (let chunk = await this.#next(); chunk !== "end"; chunk = await this.#next()) {
      if (chunk === null) return resolve(incomplete);
      if (!buffer.add(chunk)) return resolve(tooLarge);
    }
    resolve(buffer.take());
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

function pause(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(resolve, ms, null));
}

/** Listens with Deno.serve. Throws what binding the address throws. */
export function serveDeno(options: ListenOptions): Promise<Listener> {
  const edge = new Edge(options);
  const requests = new Deadlines<DenoExchange>(edge.bounds.requestTimeoutMs);
  const sweeper = setInterval(
    () => requests.sweep(performance.now(), (exchange) => exchange.expire()),
    edge.bounds.sweepIntervalMs,
  );
  Deno.unrefTimer(sweeper);
  const abort = new AbortController();
  let isDraining = false;
  const server = Deno.serve({
    hostname: options.address.host,
    port: options.address.port,
    signal: abort.signal,
    onListen: () => {},
    onError: (error) => {
      edge.report(error, null);
      return new Response(null, { status: 503 });
    },
  }, async (request, info) => {
    const exchange = new DenoExchange(edge, edge.peer(info.remoteAddr.hostname), request);
    requests.add(exchange, exchange.startedMs);
    const reply = request.method === "CONNECT"
      ? edge.refuse(400, exchange.requestId)
      : await exchange.answer();
    requests.remove(exchange);
    await exchange.discard();
    return respond(exchange, reply, { info, isClosing: isDraining || exchange.isCutShort });
  });
  const { hostname, port } = server.addr;
  return Promise.resolve({
    host: hostname,
    port,
    async close(graceMs) {
      isDraining = true;
      const cut = setTimeout(() => abort.abort(), graceMs);
      await server.shutdown();
      clearTimeout(cut);
      clearInterval(sweeper);
    },
  });
}

function respond(
  exchange: DenoExchange,
  reply: Reply,
  how: { info: Deno.ServeHandlerInfo<Deno.NetAddr>; isClosing: boolean },
): Response {
  const { response, bytes } = build(exchange, reply, how.isClosing);
  const log = (aborted: boolean) => exchange.edge.log(exchange, { status: response.status, bytes, aborted });
  how.info.completed.then(() => log(exchange.isGone), () => log(true));
  return response;
}

function build(
  exchange: DenoExchange,
  reply: Reply,
  isClosing: boolean,
): { response: Response; bytes: number } {
  try {
    return buildOnce(exchange, reply, isClosing);
  } catch (error) {
    dropBody(reply.body);
    return buildOnce(exchange, exchange.edge.fault(exchange, error), isClosing);
  }
}

function buildOnce(
  exchange: DenoExchange,
  reply: Reply,
  isClosing: boolean,
): { response: Response; bytes: number } {
  const { status } = reply;
  const headers = Object.entries(reply.headers);
  const { body } = reply;
  const length = lengthOf(body);
  const isHead = exchange.method === "HEAD";
  if (length !== null && !isBodiless(status) && !(isHead && body === null)) {
    headers.push(["Content-Length", String(length)]);
  }
  headers.push(["X-Request-Id", exchange.requestIdHeader]);
  if (isClosing) headers.push(["Connection", "close"]);
  const isSent = !isHead && !isBodiless(status);
  if (!isSent) dropBody(body);
  const response = new Response(isSent ? body as BodyInit | null : null, { status, headers });
  return { response, bytes: isSent ? length ?? 0 : 0 };
}
