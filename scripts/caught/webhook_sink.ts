/** A webhook receiver: an HTTPS server that records requests. For `npm start` and the tests, on this machine only. */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";

/** A complete request. */
export interface WebhookCall {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The receiver's certificate and handlers. */
export interface SinkOptions {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  readonly host?: string;
  /** Must respond. */
  readonly onCall: (call: WebhookCall, response: ServerResponse) => void;
  /** Called for each connection, even without a handshake. */
  readonly onConnection?: (socket: Socket) => void;
}

/** A listening receiver. */
export interface WebhookSink {
  readonly port: number;
  close(): void;
}

// A posted event has up to 64 KiB; a webhook contains it once, plus JSON overhead.
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
  // No keep-alive timeout: the client under test decides when to close.
  server.keepAliveTimeout = 0;
  await new Promise<void>((settle, reject) => {
    server.once("error", reject);
    server.listen(0, host, settle);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
