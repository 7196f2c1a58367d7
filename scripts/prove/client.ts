/**
 * An HTTP/1.1 and HTTP/2 client over TLS that uses only Node's modules.
 *
 * @module
 */

import http2 from "node:http2";
import https from "node:https";
import tls from "node:tls";
import { pause } from "./clock.ts";
import type { HttpResponse } from "./history.ts";

export interface Request {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string;
  /** `drip` sends the body in pieces; `cut` closes the connection before the end. Default: all at once. */
  readonly transfer?: "drip" | "cut";
}

// Source: SPEC, Limits (handler time bound).
const timeoutMs = 20_000;
const dripPauseMs = 600;

/** Sends requests from one local address. */
export class Client {
  readonly #address: string;
  readonly #ca: string;
  readonly #isHttp2: boolean;
  readonly #agent: https.Agent;
  readonly #sessions = new Map<number, http2.ClientHttp2Session>();

  constructor(options: { readonly address: string; readonly ca: string; readonly isHttp2: boolean }) {
    this.#address = options.address;
    this.#ca = options.ca;
    this.#isHttp2 = options.isHttp2;
    this.#agent = new https.Agent({ keepAlive: true, maxCachedSessions: 0 });
  }

  /** Sends a request and returns the complete response; throws if none arrives. */
  async send(request: Request): Promise<HttpResponse> {
    return this.#isHttp2 && request.transfer === undefined
      ? await this.#sendHttp2(request)
      : await this.#sendHttp1(request);
  }

  #sendHttp1({ port, method, path, headers, body, transfer }: Request): Promise<HttpResponse> {
    return new Promise((settle, reject) => {
      const bytes = Buffer.from(body);
      const outgoing = https.request({
        host: "127.0.0.1",
        port,
        method,
        path,
        ca: this.#ca,
        localAddress: this.#address,
        agent: transfer === undefined ? this.#agent : false,
        headers: { ...headers, ...(method === "GET" ? {} : { "Content-Length": bytes.length }) },
        signal: AbortSignal.timeout(timeoutMs),
      });
      outgoing.on("error", reject);
      outgoing.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => text += chunk);
        response.on("error", reject);
        response.on("aborted", () => reject(new Error("aborted")));
        response.on(
          "end",
          () => settle({ status: response.statusCode ?? 0, headers: toStrings(response.headers), text }),
        );
      });
      if (transfer === undefined) outgoing.end(bytes);
      else void writeInPieces(outgoing, bytes, transfer).catch(reject);
    });
  }

  #session(port: number): http2.ClientHttp2Session {
    const existing = this.#sessions.get(port);
    if (existing !== undefined && !existing.closed && !existing.destroyed) return existing;
    const session = http2.connect(`https://127.0.0.1:${port}`, {
      createConnection: () =>
        tls.connect({
          host: "127.0.0.1",
          port,
          ca: this.#ca,
          ALPNProtocols: ["h2"],
          ...{ localAddress: this.#address } as tls.ConnectionOptions,
        }),
    });
    session.on("error", () => session.destroy());
    session.on("goaway", () => session.close());
    session.unref();
    this.#sessions.set(port, session);
    return session;
  }

  #sendHttp2({ port, method, path, headers, body }: Request): Promise<HttpResponse> {
    return new Promise((settle, reject) => {
      const lower = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
      );
      const stream = this.#session(port).request({ ":method": method, ":path": path, ...lower }, {
        signal: AbortSignal.timeout(timeoutMs),
      });
      let text = "";
      let head: Record<string, string> | null = null;
      stream.on("response", (found) => head = toStrings(found));
      stream.setEncoding("utf8").on("data", (chunk: string) => text += chunk);
      stream.on("error", reject);
      stream.on("close", () => {
        if (head === null || stream.rstCode !== 0) {
          return reject(new Error(`stream closed (${stream.rstCode})`));
        }
        settle({ status: Number(head[":status"]), headers: head, text });
      });
      stream.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
    for (const session of this.#sessions.values()) session.destroy();
  }
}

async function writeInPieces(
  outgoing: NodeJS.WritableStream & { destroy(): void },
  bytes: Buffer,
  transfer: "drip" | "cut",
): Promise<void> {
  const third = Math.ceil(bytes.length / 3);
  outgoing.write(bytes.subarray(0, third));
  await pause(dripPauseMs);
  outgoing.write(bytes.subarray(third, 2 * third));
  await pause(dripPauseMs);
  if (transfer === "cut") outgoing.destroy();
  else outgoing.end(bytes.subarray(2 * third));
}

function toStrings(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
