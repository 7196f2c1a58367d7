/** An HTTP client for tests, over node:http: it shows what came over the wire and adds nothing of its own. */

import http from "node:http";
import https from "node:https";

/** One request. */
export interface RequestOptions {
  readonly method?: string;
  /** Sent as `X-API-Key`. */
  readonly key?: string;
  /** Text and bytes go out as they are, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: http.OutgoingHttpHeaders;
  /** The address to come from; left out: another one of 127.0.0.0/8 each time, so that the per-IP limit stays away. */
  readonly localAddress?: string;
  /** The certificate authority to trust, for HTTPS. */
  readonly ca?: string | Uint8Array;
  /** Chosen: 20 s, as the specification recommends to clients. */
  readonly timeoutMs?: number;
}

/** One answer. */
export interface Answer {
  /** What was asked, for messages and for the contract. */
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly text: string;
  /** The body as JSON; `undefined` when it is none. Untyped: the assertions say what it must be. */
  // deno-lint-ignore no-explicit-any
  readonly json: any;
}

// An agent keeps connections apart by local address, and does not hold the process up.
const agents = {
  "http:": new http.Agent({ keepAlive: true }),
  "https:": new https.Agent({ keepAlive: true }),
};

const linux = process.platform === "linux";
let addresses = 0;

/**
 * A loopback address that nothing in this test process has come from; after 65,024 of them they repeat.
 * Only Linux answers for all of 127.0.0.0/8; elsewhere it is always 127.0.0.1.
 */
export function freshAddress(): string {
  if (!linux) return "127.0.0.1";
  const n = addresses++;
  return `127.1.${Math.floor(n / 254) % 256}.${n % 254 + 1}`;
}

// Few enough that connections are used again.
const usual = Array.from({ length: 100 }, (_, index) => linux ? `127.2.0.${index + 1}` : "127.0.0.1");
let requests = 0;

function encode(body: unknown): string | Uint8Array {
  return typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
}

/**
 * Sends a request and reads the whole answer.
 *
 * @throws the error of the connection, when there is no complete answer
 */
export function send(url: string, options: RequestOptions = {}): Promise<Answer> {
  const target = new URL(url);
  const body = options.body === undefined ? undefined : encode(options.body);
  const headers: http.OutgoingHttpHeaders = { ...options.headers };
  if (options.key !== undefined) headers["X-API-Key"] = options.key;
  if (body !== undefined) headers["Content-Length"] ??= Buffer.byteLength(body);

  const secure = target.protocol === "https:";
  return new Promise((settle, reject) => {
    const request = (secure ? https : http).request(target, {
      method: options.method ?? "GET",
      headers,
      agent: agents[secure ? "https:" : "http:"],
      localAddress: options.localAddress ?? usual[requests++ % usual.length],
      signal: AbortSignal.timeout(options.timeoutMs ?? 20_000),
      ...(options.ca === undefined ? {} : { ca: options.ca as string }),
    });
    request.on("error", reject);
    request.on("response", (response) => {
      const chunks: Uint8Array[] = [];
      response.on("error", reject);
      response.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        const { headers, rawHeaders } = response;
        settle({
          method: options.method ?? "GET",
          path: target.pathname + target.search,
          status: response.statusCode ?? 0,
          headers,
          rawHeaders,
          text,
          json: parse(text),
        });
      });
    });
    request.end(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Posts a body as `application/json`. */
export function post(url: string, options: RequestOptions = {}): Promise<Answer> {
  const headers = { "Content-Type": "application/json", ...options.headers };
  return send(url, { method: "POST", ...options, headers });
}

/** Reads a resource. */
export function get(url: string, options: RequestOptions = {}): Promise<Answer> {
  return send(url, { method: "GET", ...options });
}
