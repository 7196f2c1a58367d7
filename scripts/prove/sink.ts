/**
 * The receivers: either the actions tier over mutual TLS, or the tenants' CRMs, chats and mail server behind the real actions
 * process. They record each delivery, and respond correctly or misbehave.
 *
 * @module
 */

import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import https from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { CertificateFiles } from "../../src/ctl/certificate_files.ts";
import { openSmtp, type ReceivedMail, type SmtpServer } from "../mail_catcher/smtp_server.ts";
import type { Authority } from "./certificates.ts";
import type { Random } from "./random.ts";
import { nowMs, pause } from "./clock.ts";
import type { Delivery } from "./history.ts";

/** How receivers misbehave; `down` means that the HTTPS server does not listen. */
export const behaviors = [
  ...["hang", "drip", "reset", "unavailable", "failing", "wrong_names"] as const,
  ...["nonsense", "no_http", "slow", "down"] as const,
] as const;

/** How receivers respond; `normal` means correctly. */
export type Behavior = typeof behaviors[number] | "normal";

/** The receivers of a round. */
export class Sink {
  readonly deliveries: Delivery[] = [];
  /** The secrets of each tenant's webhooks, newest first; at first {@linkcode secretOf} alone. */
  readonly #secrets = new Map<string, Buffer[]>();
  /** Whether every request gets the current behavior; otherwise, one in five gets a correct response. */
  isConsistent = false;
  /** Whether only one request gets the current behavior, and then all get a correct response. */
  isOnce = false;
  /** Whether the mail server defers every mailbox, whatever the current behavior. */
  isMailDeferred = false;
  readonly #receiver: Delivery["receiver"];
  readonly #random: Random;
  readonly #server: https.Server;
  readonly #sockets = new Set<Socket>();
  /** The mailboxes that the mail server defers. */
  readonly #deferred = new Set<string>();
  #smtp: SmtpServer | null = null;
  #behavior: Behavior = "normal";
  #port = 0;

  constructor(
    receiver: Delivery["receiver"],
    options: { authority: Authority; pair: CertificateFiles; random: Random },
  ) {
    this.#receiver = receiver;
    this.#random = options.random;
    this.#server = https.createServer({
      cert: readFileSync(options.pair.certFile),
      key: readFileSync(options.pair.keyFile),
      ...(receiver === "tier"
        ? { ca: options.authority.pem, requestCert: true, rejectUnauthorized: true }
        : {}),
      keepAliveTimeout: 0,
    }, (request, response) => this.#receive(request, response));
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => {});
    });
    this.#server.on("tlsClientError", () => {});
  }

  #secretsOf(tenant: string): Buffer[] {
    const secrets = this.#secrets.get(tenant) ?? [secretOf(tenant)];
    this.#secrets.set(tenant, secrets);
    return secrets;
  }

  /**
   * Sets a tenant's secret, in base64. The first one also applies to what has arrived already; after a rotation,
   * signatures with the previous secrets are expected too.
   */
  setSecret(tenant: string, secret: string, kind: "first" | "replaced" | "rotated"): void {
    const secrets = this.#secretsOf(tenant);
    const newest = Buffer.from(secret, "base64");
    if (kind === "first") secrets.splice(0, Infinity, newest);
    else this.#secrets.set(tenant, kind === "rotated" ? [newest, ...secrets] : [newest]);
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  get smtpUrl(): string {
    return `smtp://127.0.0.1:${this.#smtp?.port}`;
  }

  async open(port: number): Promise<void> {
    this.#port = port;
    this.#smtp = await openSmtp({
      deferred: this.#deferred,
      hold: (line, answer) => /^RCPT/i.test(line) && this.#holdRecipient(line, answer),
      onMessage: (message) => this.#receiveMail(message),
    });
    await this.#listen();
  }

  async #listen(): Promise<void> {
    await new Promise<void>((settle, reject) =>
      this.#server.once("error", reject).listen(this.#port, "127.0.0.1", settle)
    );
  }

  /** Sets the behavior for all further requests. */
  async setBehavior(behavior: Behavior): Promise<void> {
    if (this.#behavior === "down" && behavior !== "down") await this.#listen();
    if (this.#behavior !== "down" && behavior === "down") await this.#stop();
    this.#behavior = behavior;
  }

  async close(): Promise<void> {
    this.#smtp?.close();
    await this.#stop();
  }

  async #stop(): Promise<void> {
    const closed = new Promise<void>((settle) => this.#server.close(() => settle()));
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening || this.#sockets.size > 0) await closed;
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8");
      const path = request.url ?? "";
      // Digests and test deliveries have other paths.
      const isTier = this.#receiver === "tier";
      if (isTier !== path.startsWith("/v1/events/")) return void response.writeHead(404).end();
      const isChat = path.startsWith("/slack/");
      const tenant = isTier ? tenantOf(body) : path.split("/")[2] ?? "";
      const { headers } = request;
      const secrets = this.#secretsOf(tenant);
      const delivery: Delivery = {
        receiver: isChat ? "chat" : this.#receiver,
        eventId: isTier
          ? path.slice("/v1/events/".length)
          : String(isChat ? /Event: (\w+)/.exec(body)?.[1] : headers["webhook-id"]),
        tenant,
        route: isTier ? null : path.slice(1),
        body,
        atMs: nowMs(),
        responseStatus: null,
        respondedAtMs: null,
        // A getter, because a tenant's secret may be set after its first delivery.
        get isSigned() {
          return isTier || isChat || isSigned(headers, secrets, body);
        },
      };
      this.deliveries.push(delivery);
      void this.#respond(delivery, response, this.#nextBehavior());
    });
  }

  /** Returns the behavior for one response: as in practice, some succeed anyway. */
  #nextBehavior(): Behavior {
    const behavior = !this.isConsistent && this.#random.oneIn(5) ? "normal" : this.#behavior;
    if (this.isOnce) this.#behavior = "normal";
    return behavior;
  }

  /** Accepts, defers or delays a recipient; returns whether to hold the reply. */
  #holdRecipient(line: string, answer: () => void): boolean {
    const behavior = this.isMailDeferred ? "failing" : this.#nextBehavior();
    const isAccepted = behavior === "normal" || behavior === "slow";
    this.#deferred[isAccepted ? "delete" : "add"](mailboxIn(line));
    if (behavior === "slow") setTimeout(answer, 300);
    return behavior === "slow" || behavior === "hang";
  }

  #receiveMail({ to: [address = ""], raw }: ReceivedMail): void {
    const mailbox = mailboxIn(address);
    this.deliveries.push({
      receiver: "mail",
      eventId: /^Message-ID: <(\w+)/im.exec(raw)?.[1] ?? "",
      isSigned: true,
      tenant: /@(\w+)/.exec(mailbox)?.[1] ?? "",
      route: mailbox,
      body: raw,
      atMs: nowMs(),
      responseStatus: 250,
      respondedAtMs: nowMs(),
    });
  }

  async #respond(delivery: Delivery, response: ServerResponse, behavior: Behavior): Promise<void> {
    const respond = (status: number, text: string) => {
      response.on("finish", () => {
        delivery.responseStatus = status;
        delivery.respondedAtMs = nowMs();
      });
      response.writeHead(status, {
        ...(status === 424 ? { "Retry-After": "2" } : {}),
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(text),
      });
      response.end(text);
    };
    response.on("error", () => {});
    const responseStatus = responses[behavior];
    if (responseStatus !== undefined) return respond(...responseStatus);
    if (behavior === "hang") return;
    if (behavior === "slow") {
      await pause(300 + this.#random.below(700));
      return respond(200, "{}");
    }
    if (behavior === "no_http") {
      response.socket?.write("HELO tier\r\n\r\n");
      return void response.socket?.destroySoon();
    }
    if (behavior !== "drip") return void response.socket?.destroy();
    response.writeHead(200, { "Content-Length": 1000 });
    // For a CRM, the status alone counts; from the tier, the service needs the complete response.
    if (this.#receiver === "customer") {
      delivery.responseStatus = 200;
      delivery.respondedAtMs = nowMs();
    }
    while (!response.destroyed) {
      response.write(".");
      await pause(100);
    }
  }
}

const mailboxIn = (line: string): string => /<(.*?)>/.exec(line)?.[1] ?? "";

const responses: Partial<Record<Behavior, [status: number, text: string]>> = {
  normal: [200, "{}"],
  unavailable: [503, '{"error":"unavailable"}'],
  failing: [500, "oops"],
  wrong_names: [424, '{"error":"effects_failed","effects":{"fax":"failed: jam","":"done","call":{"a":[1]}}}'],
  nonsense: [299, "<html>\u0000 never mind"],
};

/** Returns the first secret of a tenant's webhooks. */
export const secretOf = (slug: string): Buffer => createHash("sha256").update(slug).digest();

/** Whether a webhook has the signatures of all secrets, in order. Source: Standard Webhooks. */
function isSigned(headers: IncomingMessage["headers"], secrets: readonly Buffer[], body: string): boolean {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures } = headers;
  const wanted = secrets.map((secret) =>
    `v1,${createHmac("sha256", secret).update(`${id}.${time}.${body}`).digest("base64")}`
  );
  return signatures === wanted.join(" ");
}

function tenantOf(body: string): string {
  try {
    return String(JSON.parse(body).tenant);
  } catch {
    return "";
  }
}
