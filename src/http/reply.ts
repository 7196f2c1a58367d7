/** Builds replies, uncacheable by default. */

import { Buffer } from "node:buffer";
import type { Reply } from "./exchange.ts";
import { Source } from "./source.ts";

/** `Cache-Control` of uncacheable replies. */
export const noStore = "no-store";

/** Headers of public reads, which any site's scripts may read. */
export const publicRead: Readonly<Record<string, string>> = { "Access-Control-Allow-Origin": "*" };

const jsonHeaders = Object.freeze({
  "Content-Type": "application/json",
  "Cache-Control": noStore,
});

/** A JSON reply, `no-store` unless `headers` overrides it. No charset parameter: RFC 8259 defines none. */
export function json(status: number, value: unknown, headers?: Readonly<Record<string, string>>): Reply {
  return {
    status,
    headers: headers === undefined ? jsonHeaders : { ...jsonHeaders, ...headers },
    body: JSON.stringify(value),
  };
}

/** A plain-text reply, `no-store` unless `headers` overrides it. */
export function text(status: number, body: string, headers?: Readonly<Record<string, string>>): Reply {
  return {
    status,
    headers: { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": noStore, ...headers },
    body,
  };
}

/** A reply without a body, such as a 204 or a 304. */
export function empty(status: number, headers?: Readonly<Record<string, string>>): Reply {
  return { status, headers: headers ?? {}, body: null };
}

/** Sets a header. */
export function withHeader(reply: Reply, name: string, value: string): Reply {
  return { ...reply, headers: { ...reply.headers, [name]: value } };
}

/** Whether the status forbids a body and a length: RFC 9110, section 6.4.1. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304 || status < 200;
}

/** Releases an unsent body's resources. */
export function dropBody(body: Reply["body"]): void {
  if (body instanceof Source) body.cancel();
  else if (body instanceof ReadableStream && !body.locked) body.cancel().catch(() => {});
}

/** The body's length in bytes; for HEAD, the GET's. `null` if unknown. */
function lengthOf({ body, length }: Reply, isHead: boolean): number | null {
  if (typeof body === "string") return Buffer.byteLength(body);
  if (body instanceof Uint8Array) return body.byteLength;
  return body === null && !isHead ? 0 : length ?? null;
}

// Characters that end a header line.
const splitting = /[\0\r\n]/;

/**
 * The headers for Node (names and values in turn, `listenerHeaders` included) and the body's length.
 *
 * @throws {TypeError} when a value contains a line break; Deno before 2.9.6 would send it
 */
export function headersOf(
  reply: Reply,
  options: { isHead: boolean; requestId: string; listenerHeaders: readonly string[] },
): { headers: string[]; length: number | null } {
  const headers: string[] = [];
  for (const name in reply.headers) {
    const value = reply.headers[name] as string;
    if (splitting.test(value)) throw new TypeError(`The header ${name} has a line break or a NUL`);
    headers.push(name, value);
  }
  headers.push("X-Request-Id", options.requestId, ...options.listenerHeaders);
  const length = lengthOf(reply, options.isHead);
  if (length !== null && !isBodiless(reply.status)) headers.push("Content-Length", String(length));
  return { headers, length };
}
