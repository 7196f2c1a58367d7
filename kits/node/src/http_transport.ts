/**
 * A try with `node:http` and `node:https`, over connections that are kept.
 *
 * @module
 */

import * as http from "node:http";
import * as https from "node:https";
import type { Socket } from "node:net";
import * as tls from "node:tls";
import { urlToHttpOptions } from "node:url";
import { limits } from "../../js/src/core/limits.ts";
import {
  safeCode,
  tooLarge,
  type Transport,
  type TryOutcome,
  type TryRequest,
  upgraded,
} from "../../js/src/core/transport.ts";

/** A transport with connections of its own. */
export interface HttpTransport {
  readonly send: Transport;
  /** Closes all connections, those in use too. */
  close(): void;
}

/** Certificates in PEM. */
export type Authorities = string | Uint8Array | readonly (string | Uint8Array)[];

/** A server that answers before it has read all of a lead may never read the rest; nobody waits for it longer. */
const unreadMs = 250;

/** Makes tries to `https://` addresses, and to `http://` ones; `ca` is trusted besides the platform's authorities. */
export function httpTransport(ca: Authorities | undefined): HttpTransport {
  const kept = { keepAlive: true, scheduling: "lifo" } as const;
  const secure = {
    // Said here, so that NODE_TLS_REJECT_UNAUTHORIZED cannot turn it off.
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
    ...(ca === undefined ? {} : { secureContext: contextWith(ca) }),
  } as const;
  // Plain HTTP is only ever this machine: a proxy would get key and lead to read.
  const plainAgent = new http.Agent(kept);
  const secureAgent = new https.Agent({ ...kept, ...secure, ...proxies() });
  /** Whether a try has ended in this turn of the event loop, so that its connection is known to be open. */
  let heard = false;
  const forget = () => {
    heard = false;
  };
  return {
    async send(request) {
      // The event loop hears first which connections the server has closed, also while this process stood still:
      // nothing is sent on those.
      if (!heard) await new Promise((resolve) => setImmediate(resolve));
      for (;;) {
        const outcome = await sendOnce(request, plainAgent, secureAgent);
        if (!heard) setImmediate(forget);
        heard = true;
        // A new connection is never stale, so that this ends once the kept ones are used up.
        if (outcome !== "stale") return outcome;
      }
    },
    close() {
      plainAgent.destroy();
      secureAgent.destroy();
    },
  };
}

/** Node 24 and later take the proxies of the environment where they are told to; agents of one's own must be told, too. */
function proxies(): { proxyEnv?: NodeJS.ProcessEnv } {
  const told = process.env.NODE_USE_ENV_PROXY === "1" || process.execArgv.includes("--use-env-proxy");
  return told ? { proxyEnv: process.env } : {};
}

/** Made once: reading the platform's authorities for each connection would take longer than connecting. */
function contextWith(ca: Authorities): tls.SecureContext {
  const platform = typeof tls.getCACertificates === "function"
    ? tls.getCACertificates("default")
    : tls.rootCertificates;
  const further = (Array.isArray(ca) ? ca : [ca]) as readonly (string | Uint8Array)[];
  return tls.createSecureContext({
    minVersion: "TLSv1.2",
    ca: [...platform, ...further.map((pem) => typeof pem === "string" ? pem : Buffer.from(pem))],
  });
}

/** One request; `stale` when a kept connection turned out to be closed before anything was written to it. */
function sendOnce(
  { method, url, headers, body, signal }: TryRequest,
  plainAgent: http.Agent,
  secureAgent: https.Agent,
): Promise<TryOutcome | "stale"> {
  return new Promise((resolve) => {
    const secure = url.startsWith("https:");
    const request = (secure ? https : http).request({
      ...placeOf(url),
      method,
      agent: secure ? secureAgent : plainAgent,
    });
    // Not among the options, which agent and socket keep, and print under NODE_DEBUG.
    for (const name in headers) request.setHeader(name, headers[name] as string);
    if (body !== null) request.setHeader("content-length", Buffer.byteLength(body));
    const connection = { established: false, stale: false };
    let interim = 0;
    let answer: TryOutcome | null = null;
    let unread: ReturnType<typeof setTimeout> | undefined;

    /** Ends the try; the first to say how it ended is right. */
    const end = (outcome: TryOutcome | "stale") => {
      signal.removeEventListener("abort", abort);
      clearTimeout(unread);
      resolve(outcome);
    };
    /** What is not taken ends the connection, too. */
    const refuse = (outcome: TryOutcome) => {
      end(outcome);
      request.destroy();
    };
    /** The request is over: with its answer, when that was whole. */
    const close = (error?: unknown) => {
      const lost = { kind: "lost", sent: connection.established, reason: safeCode(error) } as const;
      end(answer ?? (connection.stale ? "stale" : lost));
    };
    const abort = () => {
      close();
      request.destroy();
    };

    signal.addEventListener("abort", abort);
    request.once("socket", (socket) => watch(socket, request.reusedSocket, connection));
    request.on("information", ({ statusCode }) => {
      interim += 1;
      if (interim <= limits.interimAnswersMax) return;
      refuse({ kind: "excess", status: statusCode, why: "There are too many interim answers" });
    });
    request.once("upgrade", (_response, socket) => {
      socket.destroy();
      refuse(upgraded);
    });
    request.once("response", (response) => {
      if (response.statusCode === 101) return refuse(upgraded);
      read(response, (outcome) => {
        // A whole answer ends the try as the request closes: by then the connection is free for the next one.
        if (outcome.kind === "answer") {
          answer = outcome;
          if (!request.writableFinished) unread = setTimeout(refuse, unreadMs, outcome);
        } else if (answer === null) refuse(outcome);
      });
    });
    request.once("error", close);
    request.once("close", close);
    // Aborted before it began.
    if (signal.aborted) return abort();
    request.end(body);
  });
}

/** What was taken apart last: nearly all that a program sends goes to one place. */
let lastPlace: { readonly url: string; readonly options: http.RequestOptions } | undefined;

function placeOf(url: string): http.RequestOptions {
  if (lastPlace?.url !== url) lastPlace = { url, options: urlToHttpOptions(new URL(url)) };
  return lastPlace.options;
}

/** Notes once bytes can go out. What is written before that stays here. */
function watch(
  socket: Socket,
  reused: boolean,
  connection: { established: boolean; stale: boolean },
): void {
  const established = () => {
    connection.established = true;
  };
  if (reused && (socket.destroyed || !socket.writable || socket.readableEnded)) connection.stale = true;
  else if (socket instanceof tls.TLSSocket) {
    // Authorized means that the handshake is over and the certificate is the server's.
    if (socket.authorized) established();
    else socket.once("secureConnect", established);
  } else if (socket.connecting) socket.once("connect", established);
  else established();
}

/** Collects an answer, up to the bound. */
function read(response: http.IncomingMessage, end: (outcome: TryOutcome) => void): void {
  const status = response.statusCode ?? 0;
  const chunks: Buffer[] = [];
  let length = 0;
  response.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length > limits.answerBytesMax) end(tooLarge(status));
    else chunks.push(chunk);
  });
  const cut = (error?: Error) =>
    end({ kind: "lost", sent: true, reason: safeCode(error) ?? "an answer that was cut short" });
  response.once("error", cut);
  response.once("close", () => cut());
  response.once("end", () => {
    if (!response.complete) return cut();
    const { headers } = response;
    const header = (name: string) => {
      const value = headers[name];
      return typeof value === "string" ? value : value?.join(", ") ?? null;
    };
    end({ kind: "answer", answer: { status, header, body: Buffer.concat(chunks, length) } });
  });
}
