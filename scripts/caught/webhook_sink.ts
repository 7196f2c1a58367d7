/**
 * A receiver of webhooks: an HTTPS server that records what it is sent. For `npm start` and the tests, on this machine
 * only.
 *
 * @module
 */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";

/** One request that arrived whole. */
export interface WebhookCall {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What it shows, and what it does with a call. */
export interface SinkOptions {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  readonly host?: string;
  /** Has to answer. */
  readonly onCall: (call: WebhookCall, response: ServerResponse) => void;
  /** Told of each connection, handshake or not. */
  readonly onConnection?: (socket: Socket) => void;
}

/** A listening receiver. */
export interface WebhookSink {
  readonly port: number;
  close(): void;
}

// An event is 64 KiB as posted; the webhook has it once, with what JSON adds.
const bytesMax = 2_000_000;

/** Starts one on a free port, of 127.0.0.1 unless `host` says otherwise. */
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
  // It closes nothing by itself, and says nothing of how long it keeps what is idle.
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
