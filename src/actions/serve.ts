/**
 * The listener of the actions process: HTTP/1.1 over mutual TLS. Who shows no certificate of the CA gets
 * no byte of HTTP.
 *
 * @module
 */

import { constants } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { PeerCertificate, TLSSocket } from "node:tls";
import { readBody } from "./request_body.ts";
import {
  type FilesEvent,
  readServerFiles,
  type ServerCredentials,
  type ServerFiles,
  watchServerFiles,
} from "./server_files.ts";

/** One request, its body whole. */
export interface ActionsRequest {
  readonly method: string;
  /** The path as sent, without the query. */
  readonly path: string;
  /** The value of `Content-Encoding`, or `null`. */
  readonly encoding: string | null;
  /** The body as text, or `null` when its bytes are not UTF-8. */
  readonly body: string | null;
}

/** One answer. */
export interface ActionsReply {
  readonly status: number;
  /** Sent as JSON. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Why a connection was not taken. */
export type ConnectionRefusal = { readonly reason: string; readonly peer: string };

/** What {@linkcode serveActions} is told. */
export interface ServeOptions {
  readonly address: { readonly host: string; readonly port: number };
  readonly files: ServerFiles;
  /** The name that a client's certificate must have, or `null`. */
  readonly clientName: string | null;
  readonly handle: (request: ActionsRequest) => Promise<ActionsReply>;
  /** The answer to a request that cannot be read whole. */
  readonly refuse: (status: 400 | 413) => ActionsReply;
  readonly onRefused: (refusal: ConnectionRefusal) => void;
  readonly onFiles: (event: FilesEvent) => void;
  /** The wall clock, by which certificates expire. */
  readonly nowMs: () => number;
  /** How often changed certificate files are looked for. Default: 5 s. */
  readonly filesPollMs?: number;
}

/** A listener that accepts connections. */
export interface ActionsListener {
  readonly host: string;
  readonly port: number;
  /** Stops accepting, lets requests finish for at most `graceMs`, then cuts what is left. */
  close(graceMs: number): Promise<void>;
}

// The service's connections are few and kept; each bound only has to end what is dead.
const handshakeTimeoutMs = 5_000;
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 20_000;
const idleTimeoutMs = 120_000;
const connectionsMax = 1_000;
// Certificates of its clients that the present CA has let in; a CA for one tier has issued a few.
const knownCertificatesMax = 1_000;

/** What is known of a connection that was taken. */
interface Connection {
  readonly socket: TLSSocket;
  /** When the client's certificate expires, by the wall clock. */
  readonly expiresAtMs: number;
  /** Which CA let it in. */
  readonly generation: number;
  requests: number;
}

/** Listens. Rejects when the address cannot be had or the files cannot be used. */
export async function serveActions(options: ServeOptions): Promise<ActionsListener> {
  const credentials = await readServerFiles(options.files);
  const listener = new MutualTlsServer(options, credentials);
  await listener.open();
  const stopWatching = watchServerFiles(options.files, {
    current: credentials,
    everyMs: options.filesPollMs ?? 5_000,
    onEvent: (event) => {
      if (event.kind === "renewed") listener.renew(event.credentials, event.caChanged);
      options.onFiles(event);
    },
  });
  const { address, port } = listener.address;
  return {
    host: address,
    port,
    close: async (graceMs) => {
      stopWatching();
      await listener.close(graceMs);
    },
  };
}

function secureOptions(credentials: ServerCredentials) {
  return {
    ...credentials,
    minVersion: "TLSv1.2" as const,
    // A resumed session is let in by the certificate of an earlier handshake, so there is none. Deno resumes all
    // the same; see #faultOf.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

class MutualTlsServer {
  readonly #options: ServeOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #connections = new Map<Socket, Connection>();
  /** Fingerprints of certificates that were seen in a whole handshake under the present CA. */
  readonly #known = new Set<string>();
  #generation = 0;
  #isClosing = false;
  #onIdle: (() => void) | null = null;

  constructor(options: ServeOptions, credentials: ServerCredentials) {
    this.#options = options;
    this.#server = createServer({
      ...secureOptions(credentials),
      requestCert: true,
      rejectUnauthorized: true,
      handshakeTimeout: handshakeTimeoutMs,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: idleTimeoutMs,
      maxHeaderSize: 16 * 1024,
    }, (request, response) => void this.#serve(request, response));
    this.#server.maxConnections = connectionsMax;
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    // Before the HTTP parser's own listener, so that it finds a connection that is closed.
    this.#server.prependListener("secureConnection", (socket) => this.#admit(socket));
    this.#server.on("tlsClientError", (error: Error & { code?: string }, socket) => {
      options.onRefused({ reason: error.code ?? "handshake_failed", peer: socket.remoteAddress ?? "-" });
      socket.destroy();
    });
  }

  get address(): AddressInfo {
    return this.#server.address() as AddressInfo;
  }

  open(): Promise<void> {
    const { host, port } = this.#options.address;
    return new Promise((settle, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port }, () => {
        this.#server.removeListener("error", reject);
        settle();
      });
    });
  }

  /** Uses new files from the next handshake on. Connections that another CA let in end when they are idle. */
  renew(credentials: ServerCredentials, caChanged: boolean): void {
    this.#server.setSecureContext(secureOptions(credentials));
    if (!caChanged) return;
    this.#generation += 1;
    this.#known.clear();
    for (const connection of this.#connections.values()) {
      if (connection.requests === 0) connection.socket.destroy();
    }
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    const closed = new Promise<void>((settle) => this.#server.close(() => settle()));
    for (const connection of this.#connections.values()) {
      if (connection.requests === 0) connection.socket.destroy();
    }
    if (this.#connections.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onIdle = resolve;
      const timer = setTimeout(resolve, graceMs);
      await promise;
      clearTimeout(timer);
    }
    // What is left: cut requests, and connections in their handshake.
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #admit(socket: TLSSocket): void {
    const certificate = socket.getPeerCertificate();
    const fault = this.#faultOf(socket, certificate);
    if (fault !== null) {
      this.#options.onRefused({ reason: fault, peer: socket.remoteAddress ?? "-" });
      socket.destroy();
      return;
    }
    if (this.#known.size < knownCertificatesMax) this.#known.add(certificate.fingerprint256);
    this.#connections.set(socket, {
      socket,
      expiresAtMs: Date.parse(certificate.valid_to),
      generation: this.#generation,
      requests: 0,
    });
    socket.on("error", () => {});
    socket.once("close", () => {
      this.#connections.delete(socket);
      if (this.#connections.size === 0) this.#onIdle?.();
    });
  }

  #faultOf(socket: TLSSocket, certificate: PeerCertificate): string | null {
    // The TLS layer has refused those already; what it says is not taken on trust alone.
    if (!socket.authorized) return "not_authorized";
    if (this.#isClosing) return "closing";
    // The client forgets the session and comes again with a whole handshake.
    if (socket.isSessionReused() && !this.#known.has(certificate.fingerprint256)) return "resumed";
    const { clientName } = this.#options;
    return clientName === null || namesOf(certificate).includes(clientName) ? null : "wrong_name";
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const connection = this.#connections.get(request.socket);
    const isValid = connection !== undefined && connection.generation === this.#generation &&
      this.#options.nowMs() < connection.expiresAtMs;
    if (!isValid) {
      // Let in by a certificate that would not be let in now.
      request.socket.destroy();
      return;
    }
    connection.requests += 1;
    // An answer that is ready stays valid when its reader has gone.
    response.on("error", () => {});
    request.on("error", () => {});
    response.once("close", () => {
      connection.requests -= 1;
      const isOver = this.#isClosing || connection.generation !== this.#generation;
      if (isOver && connection.requests === 0) connection.socket.end(() => connection.socket.destroy());
    });
    const reply = await this.#answer(request, response);
    if (!response.destroyed) this.#write(response, reply);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<ActionsReply> {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const encoding = request.headers["content-encoding"] ?? null;
    const method = request.method ?? "";
    const body = await readBody(request);
    if (body === "too_large") {
      response.setHeader("Connection", "close");
      return this.#options.refuse(413);
    }
    if (body === "aborted") return this.#options.refuse(400);
    const text = body === "not_utf8" ? null : body.text;
    return await this.#options.handle({ method, path, encoding, body: text });
  }

  #write(response: ServerResponse, { status, body, headers }: ActionsReply): void {
    const text = JSON.stringify(body);
    if (this.#isClosing) response.setHeader("Connection", "close");
    response.writeHead(status, {
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(text),
      ...headers,
    });
    response.end(text);
  }
}

/** The common name, and the DNS names and URIs beside it. */
function namesOf(certificate: PeerCertificate): string[] {
  // A value that holds a comma or a quote comes as a JSON string, and then matches no name.
  const alternative = (certificate.subjectaltname ?? "").split(", ")
    .flatMap((entry) => /^(?:DNS|URI):([^"]+)$/.exec(entry)?.[1] ?? []);
  const common: unknown = certificate.subject.CN;
  return typeof common === "string" ? [common, ...alternative] : alternative;
}
