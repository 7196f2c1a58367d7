/**
 * Who stands downstream: the actions tier over mutual TLS, or the customers' CRMs behind the real one. It records all
 * that arrives and answers well, or in one of the ways in which others go wrong.
 *
 * @module
 */

import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import https from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { CertificateFiles } from "../../src/ctl/certificate_files.ts";
import type { Authority } from "./certificates.ts";
import type { Chance } from "./chance.ts";
import { nowMs, pause } from "./clock.ts";
import type { Arrived } from "./history.ts";

/** How it answers. `down`: nobody listens. */
export const manners = [
  ...["hang", "drip", "reset", "unavailable", "failing", "wrong_names"] as const,
  ...["nonsense", "no_http", "slow", "down"] as const,
] as const;

/** One of them, or well. */
export type Manner = typeof manners[number] | "well";

/** One listener. */
export class Sink {
  readonly arrived: Arrived[] = [];
  /** Of customers whose webhooks are not signed with {@linkcode secretOf}. */
  readonly secrets = new Map<string, Buffer>();
  /** Nobody gets through. */
  isSure = false;
  readonly #place: Arrived["at"];
  readonly #chance: Chance;
  readonly #server: https.Server;
  readonly #sockets = new Set<Socket>();
  #manner: Manner = "well";
  #port = 0;

  constructor(
    place: Arrived["at"],
    options: { authority: Authority; pair: CertificateFiles; chance: Chance },
  ) {
    this.#place = place;
    this.#chance = options.chance;
    this.#server = https.createServer({
      cert: readFileSync(options.pair.certFile),
      key: readFileSync(options.pair.keyFile),
      ...(place === "tier" ? { ca: options.authority.pem, requestCert: true, rejectUnauthorized: true } : {}),
      keepAliveTimeout: 0,
    }, (request, response) => this.#take(request, response));
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => {});
    });
    this.#server.on("tlsClientError", () => {});
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  async open(port: number): Promise<void> {
    this.#port = port;
    await new Promise<void>((settle, reject) =>
      this.#server.once("error", reject).listen(port, "127.0.0.1", settle)
    );
  }

  /** From now on. */
  async behave(manner: Manner): Promise<void> {
    if (this.#manner === "down" && manner !== "down") await this.open(this.#port);
    if (this.#manner !== "down" && manner === "down") await this.close();
    this.#manner = manner;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((settle) => this.#server.close(() => settle()));
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening || this.#sockets.size > 0) await closed;
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8");
      const path = request.url ?? "";
      // A daily digest's or a test's address would be another one.
      const isTier = this.#place === "tier";
      if (isTier !== path.startsWith("/v1/events/")) return void response.writeHead(404).end();
      const tenant = isTier ? tenantOf(body) : path.split("/")[2] ?? "";
      const { headers } = request;
      const { secrets } = this;
      const arrived: Arrived = {
        at: this.#place,
        eventId: isTier ? path.slice("/v1/events/".length) : String(request.headers["webhook-id"]),
        tenant,
        route: isTier ? null : path.slice("/hook/".length),
        ...{ body, atMs: nowMs(), said: null, saidAtMs: null },
        // The secret may become known only later.
        get isSigned() {
          return isTier || isSigned(headers, secrets.get(tenant) ?? secretOf(tenant), body);
        },
      };
      this.arrived.push(arrived);
      // Mostly as told; a few get through, as they do.
      const manner = !this.isSure && this.#chance.oneIn(5) ? "well" : this.#manner;
      void this.#answer(arrived, response, manner);
    });
  }

  async #answer(arrived: Arrived, response: ServerResponse, manner: Manner): Promise<void> {
    const say = (status: number, text: string) => {
      response.on("finish", () => {
        arrived.said = status;
        arrived.saidAtMs = nowMs();
      });
      response.writeHead(status, {
        ...(status === 424 ? { "Retry-After": "2" } : {}),
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(text),
      });
      response.end(text);
    };
    response.on("error", () => {});
    const said = says[manner];
    if (said !== undefined) return say(...said);
    if (manner === "hang") return;
    if (manner === "slow") {
      await pause(300 + this.#chance.below(700));
      return say(200, "{}");
    }
    if (manner === "no_http") {
      response.socket?.write("HELO tier\r\n\r\n");
      return void response.socket?.destroySoon();
    }
    if (manner !== "drip") return void response.socket?.destroy();
    response.writeHead(200, { "Content-Length": 1000 });
    // Who calls a CRM goes by the head of the answer; the service wants all of its tier's.
    if (this.#place === "customer") {
      arrived.said = 200;
      arrived.saidAtMs = nowMs();
    }
    while (!response.destroyed) {
      response.write(".");
      await pause(100);
    }
  }
}

const says: Partial<Record<Manner, [status: number, text: string]>> = {
  well: [200, "{}"],
  unavailable: [503, '{"error":"unavailable"}'],
  failing: [500, "oops"],
  wrong_names: [
    424,
    '{"error":"effects_failed","effects":{"fax":"failed: paper","":"done","call":{"a":[1]}}}',
  ],
  nonsense: [299, "<html>\u0000 never mind"],
};

/** What a customer's webhooks are signed with. */
export const secretOf = (slug: string): Buffer => createHash("sha256").update(slug).digest();

/** Source: Standard Webhooks. */
function isSigned(headers: IncomingMessage["headers"], secret: Buffer, body: string): boolean {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signature } = headers;
  const wanted = createHmac("sha256", secret).update(`${id}.${time}.${body}`).digest("base64");
  return signature === `v1,${wanted}`;
}

function tenantOf(body: string): string {
  try {
    return String(JSON.parse(body).tenant);
  } catch {
    return "";
  }
}
