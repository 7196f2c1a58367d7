/**
 * A customer's CRM: an HTTPS server that records what it is sent.
 *
 * @module
 */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Issued } from "./authority.ts";
import { atEnd } from "../at_end.ts";

/** One request that arrived whole. */
export interface CrmCall {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A listening CRM. */
export interface CrmSink {
  readonly port: number;
  readonly calls: readonly CrmCall[];
  /** Connections that were opened, handshake or not. */
  readonly connections: number;
  /** Those that are open now. */
  readonly open: number;
  /** How it answers; at first 204. */
  answer: (response: ServerResponse, call: CrmCall) => void;
}

/** An answer with a status and, if need be, headers. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}) {
  return (response: ServerResponse): void => {
    response.writeHead(code, headers).end();
  };
}

/** Starts one on a loopback address. */
export async function startCrm(certificate: Issued, host = "127.0.0.1"): Promise<CrmSink> {
  const calls: CrmCall[] = [];
  const server = createServer({ cert: certificate.cert, key: certificate.key }, (request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const call = { method, url, headers, body: Buffer.concat(chunks).toString("utf8") };
      calls.push(call);
      sink.answer(response, call);
    });
  });
  let connections = 0;
  let open = 0;
  server.on("connection", (socket) => {
    connections++;
    open++;
    socket.on("close", () => open--);
  });
  server.on("tlsClientError", () => {});
  // It closes nothing by itself, and says nothing of how long it keeps what is idle.
  server.keepAliveTimeout = 0;
  await new Promise<void>((settle) => server.listen(0, host, settle));
  atEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  const sink: CrmSink = {
    port: (server.address() as AddressInfo).port,
    calls,
    get connections() {
      return connections;
    },
    get open() {
      return open;
    },
    answer: status(204),
  };
  return sink;
}
