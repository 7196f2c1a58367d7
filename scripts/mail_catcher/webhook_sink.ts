/** A webhook receiver for `npm start` and the tests, on this machine only: an HTTPS server that reports requests. */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";

export interface WebhookCall {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface SinkOptions {
  /** The certificate, in PEM. */
  readonly cert: string;
  readonly key: string;
  readonly host?: string;
  /** Called for each request; must respond. */
  readonly onCall: (call: WebhookCall, response: ServerResponse) => void;
  /** Called for each connection, even without a handshake. */
  readonly onConnection?: (socket: Socket) => void;
}

export interface WebhookSink {
  readonly port: number;
  close(): void;
}

// A lead or submission is posted with up to 64 KiB; a webhook contains it once, with more JSON around it.
const bytesMax = 2_000_000;

/** Starts a receiver on a free port, on 127.0.0.1 unless `host` is given. */
export async function openSink(options: SinkOptions): Promise<WebhookSink> {
  const { cert, key, host = "127.0.0.1", onCall, onConnection } = options;
  const server = createServer({ cert, key }, (request, response) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    request.on("data", (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) request.destroy();
      else chunks.push(chunk);
    });
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      onCall({ method, url, headers, body: Buffer.concat(chunks).toString("utf8") }, response);
    });
  });
  if (onConnection !== undefined) server.on("connection", onConnection);
  server.on("tlsClientError", () => {});
  // No keep-alive timeout, because the client under test decides when to close.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
