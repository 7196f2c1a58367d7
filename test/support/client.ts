/** An HTTP client over node:http that exposes the response as received. */

import http from "node:http";
import https from "node:https";

/** The options of a request. */
export interface RequestOptions {
  readonly method?: string;
  /** Sent as `X-API-Key`. */
  readonly key?: string;
  /** Text and bytes are sent unchanged, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: http.OutgoingHttpHeaders;
  /**
   * The source address. By default it rotates within 127.0.0.0/8, so that requests do not reach the per-IP limit.
   */
  readonly localAddress?: string;
  /** The certificate authority to trust, for HTTPS. */
  readonly ca?: string | Uint8Array;
  /** The client's certificate, for mutual TLS. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** Whether connections may be reused; default: `true`. */
  readonly keepAlive?: boolean;
  /** Chosen: 20 s, as the specification recommends to clients. */
  readonly timeoutMs?: number;
}

/** An HTTP response. */
export interface Answer {
  /** The request's method, for messages and for the contract check. */
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** Names and values alternately, as received. */
  readonly rawHeaders: readonly string[];
  readonly text: string;
  /** The body as JSON; `undefined` if it is none. Untyped, because the assertions check its shape. */
  // deno-lint-ignore no-explicit-any
  readonly json: any;
}

// The agents keep connections apart by local address and do not keep the process alive.
const agents = {
  "http:": new http.Agent({ keepAlive: true }),
  "https:": new https.Agent({ keepAlive: true }),
};

const linux = process.platform === "linux";
let addresses = 0;

/**
 * Returns a loopback address that this process has not used yet; after 65,024 calls they repeat. Only Linux accepts
 * all of 127.0.0.0/8; elsewhere it is always 127.0.0.1.
 */
export function freshAddress(): string {
  if (!linux) return "127.0.0.1";
  const n = addresses++;
  return `127.1.${Math.floor(n / 254) % 256}.${n % 254 + 1}`;
}

// Few enough that connections are reused.
const usual = Array.from({ length: 100 }, (_, index) => linux ? `127.2.0.${index + 1}` : "127.0.0.1");
let requests = 0;

function encode(body: unknown): string | Uint8Array {
  return typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
}

/**
 * Sends a request and reads the whole response.
 *
 * @throws the connection's error when there is no complete response
 */
export function send(url: string, options: RequestOptions = {}): Promise<Answer> {
  const target = new URL(url);
  const body = options.body === undefined ? undefined : encode(options.body);
  const headers: http.OutgoingHttpHeaders = { ...options.headers };
  if (options.key !== undefined) headers["X-API-Key"] = options.key;
  if (body !== undefined && headers["Transfer-Encoding"] === undefined) {
    headers["Content-Length"] ??= Buffer.byteLength(body);
  }

  const secure = target.protocol === "https:";
  return new Promise((settle, reject) => {
    const request = (secure ? https : http).request(target, {
      method: options.method ?? "GET",
      headers,
      agent: options.keepAlive === false ? false : agents[secure ? "https:" : "http:"],
      localAddress: options.localAddress ?? usual[requests++ % usual.length],
      signal: AbortSignal.timeout(options.timeoutMs ?? 20_000),
      ...(options.ca === undefined ? {} : { ca: options.ca as string }),
      ...(options.certificate === undefined
        ? {}
        : { cert: options.certificate.cert, key: options.certificate.key }),
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
