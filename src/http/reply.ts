/**
 * Builds replies. Everything that is not meant to be cached says so by default.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Reply } from "./exchange.ts";
import { Source } from "./source.ts";

/** `Cache-Control` of what must be asked for again each time. */
export const noStore = "no-store";

/** Headers of the public reads: any site's scripts may read them. */
export const publicRead: Readonly<Record<string, string>> = { "Access-Control-Allow-Origin": "*" };

const jsonHeaders = Object.freeze({
  "Content-Type": "application/json",
  "Cache-Control": noStore,
});

/**
 * A JSON reply with `Cache-Control: no-store`, unless `headers` says otherwise.
 *
 * The media type has no charset parameter: RFC 8259 defines none, JSON on the wire is UTF-8.
 */
export function json(status: number, value: unknown, headers?: Readonly<Record<string, string>>): Reply {
  return {
    status,
    headers: headers === undefined ? jsonHeaders : { ...jsonHeaders, ...headers },
    body: JSON.stringify(value),
  };
}

/** A reply of plain UTF-8 text with `Cache-Control: no-store`, unless `headers` says otherwise. */
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

/** The same reply with one more header, or another value of it. */
export function withHeader(reply: Reply, name: string, value: string): Reply {
  return { ...reply, headers: { ...reply.headers, [name]: value } };
}

/** Whether a reply of this status may not have a body and says no length: RFC 9110, section 6.4.1. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304 || status < 200;
}

/** Lets go of a body that will not be sent: what it has open is closed. */
export function dropBody(body: Reply["body"]): void {
  if (body instanceof Source) body.cancel();
  else if (body instanceof ReadableStream && !body.locked) body.cancel().catch(() => {});
}

/**
 * The length of a reply's body in bytes, that of what a GET would get in the answer to a HEAD; `null` for a stream
 * that does not tell, and for no body in the answer to a HEAD.
 */
function lengthOf({ body, length }: Reply, isHead: boolean): number | null {
  if (typeof body === "string") return Buffer.byteLength(body);
  if (body instanceof Uint8Array) return body.byteLength;
  return body === null && !isHead ? 0 : length ?? null;
}

// What would end a header line, or the header.
const splitting = /[\0\r\n]/;

/**
 * The headers of a reply as Node takes them, names and values in turn, and the length of its body. `listenerHeaders` are
 * those of every answer, likewise.
 *
 * @throws {TypeError} when a value would be read as more than one line; Deno before 2.9.6 sends it
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
