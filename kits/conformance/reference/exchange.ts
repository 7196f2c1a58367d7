/**
 * One request and its answer, as far as they came.
 *
 * @module
 */

import { type Agent, type ClientRequest, type IncomingMessage, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import type { TLSSocket } from "node:tls";

/** What is sent. */
export interface Outgoing {
  readonly method: "GET" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What came of it. */
export type Exchange =
  | {
    readonly is: "answer";
    readonly status: number;
    readonly headers: IncomingMessage["headers"];
    readonly body: string;
  }
  /** Something that must not come again: a change of protocol, a body that is too long, no end of interim answers. */
  | { readonly is: "unacceptable"; readonly status: number }
  /** No whole answer; `sent` says whether bytes of the request went out on an established connection. */
  | { readonly is: "nothing"; readonly sent: boolean };

const bodyBytesMax = 1_048_576;
const interimMax = 20;

/** Sends a request. Whatever goes wrong is an outcome, and nothing is thrown. */
export function exchange(outgoing: Outgoing, agent: Agent, signal: AbortSignal): Promise<Exchange> {
  return new Promise((settle) => {
    const { method, url, headers, body } = outgoing;
    const send = url.protocol === "https:" ? tlsRequest : plainRequest;
    const request = send(url, {
      method,
      agent,
      signal,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(body)) }),
      },
    });
    let sent = false;
    const end = (outcome: Exchange) => {
      settle(outcome);
      if (outcome.is !== "answer") request.destroy();
    };
    onEstablished(request, () => sent = true);
    let interim = 0;
    request.on("information", ({ statusCode }) => {
      interim += 1;
      if (interim > interimMax) end({ is: "unacceptable", status: statusCode });
    });
    request.on(
      "upgrade",
      (response) => end({ is: "unacceptable", status: response.statusCode ?? 101 }),
    );
    request.on("error", () => end({ is: "nothing", sent }));
    request.on("response", (response) => readAnswer(response, sent, end));
    request.end(body);
  });
}

function onEstablished(request: ClientRequest, then: () => void): void {
  request.once("socket", (socket) => {
    const secure = "encrypted" in socket;
    if (request.reusedSocket || (!socket.connecting && !(secure && !(socket as TLSSocket).authorized))) {
      then();
    } else socket.once(secure ? "secureConnect" : "connect", then);
  });
}

function readAnswer(response: IncomingMessage, sent: boolean, end: (outcome: Exchange) => void): void {
  const status = response.statusCode ?? 0;
  if (status === 101) return end({ is: "unacceptable", status });
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) end({ is: "unacceptable", status });
    else chunks.push(chunk);
  });
  response.on("error", () => end({ is: "nothing", sent }));
  response.on("end", () => {
    if (!response.complete) return end({ is: "nothing", sent });
    end({ is: "answer", status, headers: response.headers, body: Buffer.concat(chunks).toString() });
  });
}
