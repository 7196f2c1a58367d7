/**
 * The listener on Deno.serve: plain HTTP/1.1 behind an edge, on a loopback or private address. Loaded on Deno
 * only.
 *
 * Deno.serve has no bounds for silent connections, slow headers or idle ones, sets its own for the size of
 * headers, and answers malformed HTTP by itself, without `X-Request-Id`; the edge before it stands for those.
 *
 * @module
 */

import { Deadlines } from "./deadlines.ts";
import { DenoExchange } from "./deno_exchange.ts";
import { Edge } from "./edge.ts";
import type { Reply } from "./exchange.ts";
import type { Listener, ListenOptions } from "./options.ts";
import { dropBody, isBodiless, lengthOf } from "./reply.ts";
import { type Source, sourceOf, WrongLength } from "./source.ts";

/** Listens with Deno.serve. Throws what binding the address throws. */
export function serveDeno(options: ListenOptions): Promise<Listener> {
  const edge = new Edge(options);
  const requests = new Deadlines<DenoExchange>(edge.bounds.requestTimeoutMs);
  const stalls = new Deadlines<DenoExchange>(edge.bounds.stallTimeoutMs);
  const sweeper = setInterval(() => {
    requests.sweep(performance.now(), (exchange) => exchange.expire());
    stalls.sweep(performance.now(), (exchange) => exchange.cut());
  }, edge.bounds.sweepIntervalMs);
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
    return respond(exchange, reply, { info, stalls, isClosing: isDraining || exchange.isCutShort });
  });
  const { hostname, port } = server.addr;
  return Promise.resolve({
    host: hostname,
    port,
    async close(graceMs) {
      isDraining = true;
      let isShuttingDown = false;
      const { promise: isCut, resolve: cut } = Promise.withResolvers<void>();
      const timer = setTimeout(() => {
        // Deno can do only one of the two: behind `shutdown` this would end the process with a BadResource.
        if (!isShuttingDown) abort.abort();
        for (const exchange of stalls.members()) exchange.cut();
        cut();
      }, graceMs);
      // `shutdown` would cut off the bodies that are being read: they come first.
      await Promise.race([Promise.all(requests.members().map(({ bodyRead }) => bodyRead)), server.finished]);
      isShuttingDown = true;
      // It waits for those who have stopped reading, whose connections end with the process.
      await Promise.race([server.shutdown(), isCut]);
      clearTimeout(timer);
      clearInterval(sweeper);
    },
  });
}

function respond(
  exchange: DenoExchange,
  reply: Reply,
  how: {
    info: Deno.ServeHandlerInfo<Deno.NetAddr>;
    stalls: Deadlines<DenoExchange>;
    isClosing: boolean;
  },
): Response {
  let bytes = 0;
  const onPiece = (length: number) => bytes += length;
  const source = sourceOf(reply.body);
  const sent: Reply = source === null
    ? reply
    : { ...reply, body: watched(source, { exchange, stalls: how.stalls, length: reply.length, onPiece }) };
  const built = build(exchange, sent, how.isClosing);
  bytes += built.bytes;
  const { status } = built.response;
  const log = (aborted: boolean) => exchange.edge.log(exchange, { status, bytes, aborted });
  how.info.completed.then(() => log(exchange.isGone), () => log(true));
  return built.response;
}

/**
 * The source as a stream, whose pieces are counted and whose cancelling is noticed: `completed` does not tell. A
 * client that takes nothing for too long, or a source that gives nothing, ends it; Deno closes the connection when
 * it next looks at it.
 */
function watched(
  source: Source,
  options: {
    exchange: DenoExchange;
    stalls: Deadlines<DenoExchange>;
    length: number | undefined;
    onPiece: (bytes: number) => void;
  },
): ReadableStream<Uint8Array> {
  const { exchange, stalls, length, onPiece } = options;
  let sent = 0;
  const wait = () => {
    stalls.remove(exchange);
    stalls.add(exchange, performance.now());
  };
  const stop = () => {
    stalls.remove(exchange);
    exchange.isGone = true;
    source.cancel();
  };
  return new ReadableStream({
    start(controller) {
      exchange.cut = () => {
        stop();
        controller.error(new Error("The client has stalled"));
      };
      wait();
    },
    pull(controller) {
      wait();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const fail = (error: unknown) => {
        stop();
        exchange.edge.report(error, exchange);
        reject(error);
      };
      source.next({
        piece(bytes) {
          sent += bytes.byteLength;
          if (length !== undefined && sent > length) return fail(new WrongLength("longer"));
          onPiece(bytes.byteLength);
          controller.enqueue(bytes);
          resolve();
        },
        end() {
          if (length !== undefined && sent < length) return fail(new WrongLength("shorter"));
          stalls.remove(exchange);
          controller.close();
          resolve();
        },
        fail,
      });
      return promise;
    },
    cancel: stop,
  }, { highWaterMark: 0 });
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
  const isHead = exchange.method === "HEAD";
  const length = lengthOf(reply, isHead);
  if (length !== null && !isBodiless(status)) headers.push(["Content-Length", String(length)]);
  headers.push(["X-Request-Id", exchange.requestIdHeader]);
  // Deno.serve says it by itself to a client that has asked for it.
  const isAskedFor = /\bclose\b/i.test(exchange.header("connection") ?? "");
  if (isClosing && !isAskedFor) headers.push(["Connection", "close"]);
  const isSent = !isHead && !isBodiless(status);
  if (!isSent) dropBody(body);
  const response = new Response(isSent ? body as BodyInit | null : null, { status, headers });
  const isStream = body instanceof ReadableStream;
  return { response, bytes: isSent && !isStream ? length ?? 0 : 0 };
}
