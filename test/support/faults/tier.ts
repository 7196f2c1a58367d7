/**
 * What the service delivers to in a fault test: it records every request and how it was answered, and either
 * answers itself or passes the request on to the actions process.
 */

import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import type { Authority, Issued } from "../authority.ts";
import { atEnd } from "../at_end.ts";
import { openSocket } from "../handed_socket.ts";

/** A request that arrived whole. */
export interface TierRequest {
  readonly eventId: string;
  /** As its body says. */
  readonly attempt: number;
  readonly text: string;
  /** By `performance.now()`. */
  readonly atMs: number;
  /** Requests in flight when it arrived, this one among them. */
  readonly inFlight: number;
  /** Requests that had been answered when it arrived. */
  readonly answeredBefore: number;
  /** The status of the answer; `null`: none was given; `undefined`: it is in flight. */
  said: number | null | undefined;
}

/** An answer; `cut` closes the connection, `hang` leaves it until the other side closes it. */
export type TierAnswer =
  | { readonly status: number; readonly text?: string; readonly headers?: http.OutgoingHttpHeaders }
  | "cut"
  | "hang";

/** The tier as the service sees it. It ends with the tests of the file. */
export class Tier {
  readonly requests: TierRequest[] = [];
  /** Decides about each request; by default all is well. */
  answer: (request: TierRequest) => TierAnswer | Promise<TierAnswer> = () => ({ status: 200 });
  readonly #tls: https.ServerOptions | null;
  readonly #sockets = new Set<Socket>();
  #server: http.Server | https.Server;
  #port = 0;
  #answered = 0;
  #open = 0;

  private constructor(tls: https.ServerOptions | null) {
    this.#tls = tls;
    this.#server = this.#make();
  }

  /** Opens one: over mutual TLS with a certificate, otherwise over plain HTTP. */
  static async open(tls?: { readonly authority: Authority; readonly server: Issued }): Promise<Tier> {
    const tier = new Tier(
      tls === undefined ? null : {
        ...{ ca: tls.authority.pem, cert: tls.server.cert, key: tls.server.key },
        ...{ requestCert: true, rejectUnauthorized: true },
      },
    );
    // Held as long as the tests run: while the tier is away, nobody else gets its port.
    tier.#port = Number(new URL(openSocket("tier").url).port);
    await tier.up();
    atEnd(() => tier.down());
    return tier;
  }

  /** Its base address, the same also after {@linkcode Tier.down} and {@linkcode Tier.up}. */
  get url(): string {
    return `${this.#tls === null ? "http" : "https"}://127.0.0.1:${this.#port}`;
  }

  /** The requests that are not answered yet. */
  get inFlight(): readonly TierRequest[] {
    return this.requests.filter(({ said }) => said === undefined);
  }

  /** The events that were answered with 2xx. */
  get taken(): ReadonlySet<string> {
    return new Set(this.requests.filter(isTaken).map(({ eventId }) => eventId));
  }

  /** The requests for one event. */
  of(eventId: string): TierRequest[] {
    return this.requests.filter((request) => request.eventId === eventId);
  }

  /** Accepts connections (again). */
  async up(): Promise<void> {
    this.#server = this.#make();
    await new Promise<void>((settle, reject) => {
      this.#server.once("error", reject).listen(this.#port, "127.0.0.1", settle);
    });
  }

  /** Goes away: connections are cut, new ones refused. */
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
        void this.#take(request.url ?? "", Buffer.concat(chunks).toString("utf8"), response);
      });
    };
    const server = this.#tls === null ? http.createServer(take) : https.createServer(this.#tls, take);
    server.keepAliveTimeout = 0;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    return server;
  }

  async #take(path: string, text: string, response: http.ServerResponse): Promise<void> {
    this.#open += 1;
    const request: TierRequest = {
      eventId: path.slice("/v1/events/".length),
      attempt: JSON.parse(text).attempt,
      text,
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

/** Whether it was answered with 2xx. */
export function isTaken({ said }: TierRequest): boolean {
  return typeof said === "number" && said >= 200 && said < 300;
}

/**
 * An answer for {@linkcode Tier} that comes from the actions process, over mutual TLS; while there is none, the
 * connection is cut.
 */
export function passTo(
  port: () => number | null,
  client: { readonly authority: Authority; readonly certificate: Issued },
): (request: TierRequest) => Promise<TierAnswer> {
  const { cert, key } = client.certificate;
  const agent = new https.Agent({ keepAlive: true, ca: client.authority.pem, cert, key });
  return (request) =>
    new Promise((settle) => {
      const target = port();
      if (target === null) return settle("cut");
      const headers = {
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(request.text),
      };
      const path = `/v1/events/${request.eventId}`;
      const sent = https.request({ host: "127.0.0.1", port: target, method: "PUT", path, headers, agent });
      sent.on("error", () => settle("cut"));
      sent.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => text += chunk);
        response.on("error", () => settle("cut"));
        response.on("end", () => {
          const { "retry-after": retryAfter } = response.headers;
          settle({
            status: response.statusCode ?? 0,
            text,
            headers: retryAfter === undefined ? {} : { "Retry-After": retryAfter },
          });
        });
      });
      sent.end(request.text);
    });
}
