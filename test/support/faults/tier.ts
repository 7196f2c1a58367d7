/**
 * An actions tier for tests: it records every request and its response, and either responds itself or forwards to
 * the actions process.
 */

import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import type { Authority, Issued } from "../authority.ts";
import { atEnd } from "../at_end.ts";
import { send } from "../client.ts";
import { openSocket } from "../handed_socket.ts";
import { until } from "../until.ts";

/** A request received in full. */
export interface TierRequest {
  readonly eventId: string;
  /** The attempt's number in the body. */
  readonly attempt: number;
  readonly method: string;
  readonly text: string;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
  /** By `performance.now()`. */
  readonly atMs: number;
  /** Requests in flight on arrival, including this one. */
  readonly inFlight: number;
  /** Requests answered before its arrival. */
  readonly answeredBefore: number;
  /** The status of the response; `null` for none, `undefined` while it is in flight. */
  said: number | null | undefined;
}

/** A response; `cut` closes the connection, `hang` keeps it open until the client closes it. */
export type TierAnswer =
  | { readonly status: number; readonly text?: string; readonly headers?: http.OutgoingHttpHeaders }
  | "cut"
  | "hang";

/** A tier's certificate and the authority of its clients. */
export interface TierTls {
  readonly authority: Authority;
  readonly server: Issued;
}

/** The tier as the service sees it. It ends with the tests of the file. */
export class Tier {
  readonly requests: TierRequest[] = [];
  /** Chooses the response to each request; 200 by default. */
  answer: (request: TierRequest) => TierAnswer | Promise<TierAnswer> = () => ({ status: 200 });
  readonly #tls: TierTls | undefined;
  readonly #sockets = new Set<Socket>();
  #server: http.Server | https.Server;
  #port = 0;
  #answered = 0;
  #open = 0;

  private constructor(tls: TierTls | undefined) {
    this.#tls = tls;
    this.#server = this.#make();
  }

  /** Opens a tier: over mutual TLS with a certificate, otherwise over plain HTTP. */
  static async open(tls?: TierTls): Promise<Tier> {
    const tier = new Tier(tls);
    // Reserved for the whole run: no other program gets the port while the tier is down.
    tier.#port = Number(new URL(openSocket("tier").url).port);
    await tier.up();
    atEnd(() => tier.down());
    return tier;
  }

  /** The base address; {@linkcode Tier.down} and {@linkcode Tier.up} do not change it. */
  get url(): string {
    return `${this.#tls === undefined ? "http" : "https"}://127.0.0.1:${this.#port}`;
  }

  /** The requests without a response so far. */
  get inFlight(): readonly TierRequest[] {
    return this.requests.filter(({ said }) => said === undefined);
  }

  /** The events with a 2xx response. */
  get taken(): ReadonlySet<string> {
    return new Set(this.requests.filter(isAccepted).map(({ eventId }) => eventId));
  }

  /** Returns the requests for one event. */
  of(eventId: string): TierRequest[] {
    return this.requests.filter((request) => request.eventId === eventId);
  }

  /** Waits until an event has arrived `count` times. */
  async until(eventId: string, count = 1): Promise<TierRequest[]> {
    await until(() => this.of(eventId).length >= count, { what: `${eventId} arrives ${count} times` });
    return this.of(eventId);
  }

  /** Accepts connections (again). */
  async up(): Promise<void> {
    this.#server = this.#make();
    await new Promise<void>((settle, reject) => {
      this.#server.once("error", reject).listen(this.#port, "127.0.0.1", settle);
    });
  }

  /** Closes its connections and refuses new ones. */
  async down(): Promise<void> {
    const closed = new Promise<void>((settle) => this.#server.close(() => settle()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #make(): http.Server | https.Server {
    const take: http.RequestListener = (request, response) => {
      const chunks: Uint8Array[] = [];
      request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      request.on("error", () => {});
      request.on("end", () => {
        void this.#take(request, Buffer.concat(chunks).toString("utf8"), response);
      });
    };
    const server = this.#tls === undefined ? http.createServer(take) : https.createServer({
      ca: this.#tls.authority.pem,
      cert: this.#tls.server.cert,
      key: this.#tls.server.key,
      requestCert: true,
      rejectUnauthorized: true,
    }, take);
    server.keepAliveTimeout = 0;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    return server;
  }

  async #take(
    { url = "", method = "" }: http.IncomingMessage,
    text: string,
    response: http.ServerResponse,
  ): Promise<void> {
    this.#open += 1;
    const body = JSON.parse(text);
    const request: TierRequest = {
      eventId: url.slice("/v1/events/".length),
      attempt: body.attempt,
      method,
      text,
      body,
      atMs: performance.now(),
      inFlight: this.#open,
      answeredBefore: this.#answered,
      said: undefined,
    };
    this.requests.push(request);
    const gone = new Promise<void>((settle) => response.once("close", () => settle()));
    const answer = await this.answer(request);
    if (answer === "hang") await gone;
    this.#open -= 1;
    request.said = typeof answer === "string" ? null : answer.status;
    if (typeof answer === "string") {
      response.destroy();
      return;
    }
    this.#answered += 1;
    response.writeHead(answer.status, { "Content-Type": "application/json", ...answer.headers });
    response.end(answer.text ?? "{}");
  }
}

/** Returns whether the response was 2xx. */
export function isAccepted({ said }: TierRequest): boolean {
  return typeof said === "number" && said >= 200 && said < 300;
}

/**
 * Returns a responder for {@linkcode Tier} that forwards to the actions process over mutual TLS and cuts the
 * connection while there is none.
 */
export function passTo(
  port: () => number | null,
  client: { readonly authority: Authority; readonly certificate: Issued },
): (request: TierRequest) => Promise<TierAnswer> {
  return async ({ eventId, method, text: body }) => {
    const target = port();
    if (target === null) return "cut";
    const headers = { "Content-Type": "application/json" };
    const url = `https://127.0.0.1:${target}/v1/events/${eventId}`;
    try {
      const { status, text, headers: { "retry-after": retryAfter } } = await send(url, {
        method,
        headers,
        body,
        ca: client.authority.pem,
        certificate: client.certificate,
        timeoutMs: 60_000,
      });
      return { status, text, headers: retryAfter === undefined ? {} : { "Retry-After": retryAfter } };
    } catch {
      return "cut";
    }
  };
}
