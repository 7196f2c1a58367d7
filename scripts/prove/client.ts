/**
 * The client of the proof: HTTP/1.1 and HTTP/2 over TLS, straight on Node's modules.
 *
 * @module
 */

import http2 from "node:http2";
import https from "node:https";
import tls from "node:tls";
import { pause } from "./clock.ts";
import type { Answer } from "./history.ts";

/** A request. */
export interface Request {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Left out: all at once. `drip`: in pieces. `cut`: the connection is cut before the end. */
  readonly how?: "drip" | "cut";
}

// Source: SPEC, Limits (handler time bound).
const timeoutMs = 20_000;
const dripPauseMs = 600;

/** Requests of one client address. */
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

  /** Sends it; throws with a code when no whole answer came. */
  async send(request: Request): Promise<Answer> {
    return this.#isHttp2 && request.how === undefined
      ? await this.#send2(request)
      : await this.#send1(request);
  }

  #send1({ port, method, path, headers, body, how }: Request): Promise<Answer> {
    return new Promise((settle, reject) => {
      const bytes = Buffer.from(body);
      const sent = https.request({
        ...{ host: "127.0.0.1", port, method, path, ca: this.#ca, localAddress: this.#address },
        agent: how === undefined ? this.#agent : false,
        headers: { ...headers, ...(method === "GET" ? {} : { "Content-Length": bytes.length }) },
        signal: AbortSignal.timeout(timeoutMs),
      });
      sent.on("error", reject);
      sent.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => text += chunk);
        response.on("error", reject);
        response.on("aborted", () => reject(new Error("aborted")));
        response.on(
          "end",
          () => settle({ status: response.statusCode ?? 0, headers: flat(response.headers), text }),
        );
      });
      if (how === undefined) sent.end(bytes);
      else void inPieces(sent, bytes, how).catch(reject);
    });
  }

  #session(port: number): http2.ClientHttp2Session {
    const known = this.#sessions.get(port);
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const session = http2.connect(`https://127.0.0.1:${port}`, {
      createConnection: () =>
        tls.connect({
          ...{ host: "127.0.0.1", port, ca: this.#ca, ALPNProtocols: ["h2"] },
          ...{ localAddress: this.#address } as tls.ConnectionOptions,
        }),
    });
    session.on("error", () => session.destroy());
    session.on("goaway", () => session.close());
    session.unref();
    this.#sessions.set(port, session);
    return session;
  }

  #send2({ port, method, path, headers, body }: Request): Promise<Answer> {
    return new Promise((settle, reject) => {
      const lower = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
      );
      const stream = this.#session(port).request({ ":method": method, ":path": path, ...lower }, {
        signal: AbortSignal.timeout(timeoutMs),
      });
      let text = "";
      let head: Record<string, string> | null = null;
      stream.on("response", (found) => head = flat(found));
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

async function inPieces(
  sent: NodeJS.WritableStream & { destroy(): void },
  bytes: Buffer,
  how: "drip" | "cut",
): Promise<void> {
  const third = Math.ceil(bytes.length / 3);
  sent.write(bytes.subarray(0, third));
  await pause(dripPauseMs);
  sent.write(bytes.subarray(third, 2 * third));
  await pause(dripPauseMs);
  if (how === "cut") sent.destroy();
  else sent.end(bytes.subarray(2 * third));
}

function flat(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
