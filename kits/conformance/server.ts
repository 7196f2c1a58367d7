/**
 * The scripted server: answers byte by byte what a case says, and records every request that comes in.
 *
 * @module
 */

import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { type Answer, fill, fillAll, type Values } from "./case.ts";
import { header, type Seen, takeRequest } from "./request_text.ts";

/** How to start one. */
export interface ServerOptions {
  readonly host: string;
  /** Speaks TLS with these; plain when left out. */
  readonly tls?: TlsOptions;
  readonly answers: readonly Answer[];
  /** Whether the last answer is given to all further requests. */
  readonly andSoOn: boolean;
  /** What placeholders in answers stand for, besides those of the request. */
  readonly values: Values;
}

/** Long enough for an answer to have been read, and its connection to be kept. */
const strayAfterMs = 100;
const strayThereMs = 1000;

const badRequest = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/** Sockets, and what came over them. */
export class ScriptedServer {
  readonly #options: ServerOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #ending = new Set<Promise<unknown>>();
  /** The requests, in the order in which they were whole. */
  readonly seen: Seen[] = [];
  /** What went wrong while reading: a request that is none, one too many. */
  readonly faults: string[] = [];
  /** How many connections were opened; with TLS, those whose handshake was done. */
  connections = 0;
  #answered = 0;

  private constructor(options: ServerOptions) {
    this.#options = options;
    const onSocket = (socket: Socket) => this.#serve(socket);
    this.#server = options.tls === undefined
      ? createServer({ noDelay: true }, onSocket)
      : createTlsServer({ ...options.tls, noDelay: true }, onSocket);
    // A handshake that fails is what some cases are about.
    this.#server.on("tlsClientError", () => {});
  }

  /** Opens a server on a port of its own. */
  static async open(options: ServerOptions): Promise<ScriptedServer> {
    const own = new ScriptedServer(options);
    await new Promise<void>((settle, reject) => {
      own.#server.once("error", reject);
      own.#server.listen(0, options.host, settle);
    });
    return own;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  /** Settles when connections that an answer ends are at their end, as the other side sees it. */
  async ended(): Promise<void> {
    await Promise.all(this.#ending);
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((settle) => this.#server.close(settle));
  }

  #serve(socket: Socket): void {
    const connection = this.connections;
    this.connections += 1;
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => this.#sockets.delete(socket));
    let bytes = Buffer.alloc(0);
    let turn = Promise.resolve();
    const speaksFirst = this.#next()?.when === "connected";
    if (speaksFirst) {
      turn = this.#give(socket, this.#take(), null);
    }
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      try {
        // The hello of TLS, to which servers of plain HTTP answer in plain HTTP.
        if (bytes[0] === 0x16) return void (speaksFirst || socket.end(badRequest));
        for (let taken = takeRequest(bytes); taken !== null; taken = takeRequest(bytes)) {
          bytes = bytes.subarray(taken.length);
          const request: Seen = { ...taken.request, connection, atMs: performance.now() };
          this.seen.push(request);
          const answer = this.#take();
          turn = turn.then(() => this.#give(socket, answer, request)).catch(() => {});
        }
      } catch (error) {
        this.faults.push((error as Error).message);
        socket.end(badRequest);
      }
    });
  }

  #next(): Answer | undefined {
    const { answers, andSoOn } = this.#options;
    return answers[this.#answered] ?? (andSoOn ? answers.at(-1) : undefined);
  }

  #take(): Answer {
    const next = this.#next();
    this.#answered += 1;
    if (next !== undefined) return next;
    this.faults.push("one request more than the case has answers");
    return { then: "close" };
  }

  async #give(socket: Socket, answer: Answer, request: Seen | null): Promise<void> {
    const values = request === null ? this.#options.values : {
      ...this.#options.values,
      body: request.body.toString(),
      api_key: header(request, "x-api-key") ?? "",
      idempotency_key: header(request, "idempotency-key") ?? "",
      request_id: header(request, "x-request-id") ?? "",
    };
    const { head, body } = render(answer, values);
    const { drip } = answer;
    if (drip === undefined) socket.write(Buffer.concat([head, body]));
    else {
      if (drip.from === "body") socket.write(head);
      await dripOut(socket, drip.from === "body" ? body : Buffer.concat([head, body]), drip.every_ms);
    }
    if (answer.stray !== undefined) {
      const noticed = new Promise((settle) => socket.once("close", settle));
      const written = delay(strayAfterMs).then(() => socket.write(fill(answer.stray ?? "", values)));
      // Some close the connection as it comes, others look when they want to send: by then it has long been there.
      this.#ending.add(written.then(() => Promise.race([noticed, delay(strayThereMs)])));
      await written;
    }
    if (answer.then === "close") {
      // Until all was sent and the end of it with it; whoever looks then finds the connection closed.
      this.#ending.add(new Promise((settle) => socket.once("finish", settle).once("close", settle)));
      socket.end();
    } else if (answer.then === "reset") {
      this.#ending.add(new Promise((settle) => socket.once("close", settle)));
      socket.resetAndDestroy();
    }
  }
}

function render(answer: Answer, values: Values): { head: Buffer; body: Buffer } {
  const { status, headers = {}, json, text, times = 1, interim = [], framing, cut_after, raw } = answer;
  if (raw !== undefined || status === undefined) {
    return { head: Buffer.from(fill(raw ?? "", values).repeat(times), "latin1"), body: Buffer.alloc(0) };
  }
  const whole = Buffer.from(
    json !== undefined ? JSON.stringify(fillAll(json, values)) : fill(text ?? "", values).repeat(times),
  );
  const bodiless = status === 204 || status === 304 || status < 200;
  const body = framing === "chunked" ? inChunks(whole, 700) : whole;
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${fill(value, values)}\r\n`);
  const length = bodiless || framing === "until closed"
    ? ""
    : framing === "chunked"
    ? "Transfer-Encoding: chunked\r\n"
    : `Content-Length: ${whole.length}\r\n`;
  const type = headers["Content-Type"] === undefined && !bodiless ? "Content-Type: application/json\r\n" : "";
  const before = interim.map((each) => `HTTP/1.1 ${each} Interim\r\nLink: </a>; rel=preload\r\n\r\n`).join(
    "",
  );
  const head = `${before}HTTP/1.1 ${status} Scripted\r\n${type}${length}${own.join("")}\r\n`;
  return {
    head: Buffer.from(head, "latin1"),
    body: bodiless ? Buffer.alloc(0) : body.subarray(0, cut_after ?? body.length),
  };
}

/** The chunked coding, in pieces so small that every answer has several. */
function inChunks(bytes: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  const step = Math.min(size, Math.max(1, Math.ceil(bytes.length / 3)));
  for (let at = 0; at < bytes.length; at += step) {
    const part = bytes.subarray(at, at + step);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n"));
  }
  return Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]);
}

async function dripOut(socket: Socket, bytes: Buffer, everyMs: number): Promise<void> {
  for (const byte of bytes) {
    if (socket.destroyed) return;
    socket.write(Buffer.of(byte));
    await delay(everyMs);
  }
}
