/** Builds replies; those with a body are `no-store` unless `headers` says otherwise. */

import { Buffer } from "node:buffer";
import type { Reply } from "./exchange.ts";
import { Source } from "./source.ts";

export const noStore = "no-store";

/** Lets scripts on any site read the response. */
export const publicRead: Readonly<Record<string, string>> = { "Access-Control-Allow-Origin": "*" };

const jsonHeaders = Object.freeze({
  "Content-Type": "application/json",
  "Cache-Control": noStore,
});

/** Builds a JSON reply, without a charset parameter: RFC 8259 defines none. */
export function json(status: number, value: unknown, headers?: Readonly<Record<string, string>>): Reply {
  return {
    status,
    headers: headers === undefined ? jsonHeaders : { ...jsonHeaders, ...headers },
    body: JSON.stringify(value),
  };
}

export function text(status: number, body: string, headers?: Readonly<Record<string, string>>): Reply {
  return {
    status,
    headers: { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": noStore, ...headers },
    body,
  };
}

export function empty(status: number, headers?: Readonly<Record<string, string>>): Reply {
  return { status, headers: headers ?? {}, body: null };
}

export function withHeader(reply: Reply, name: string, value: string): Reply {
  return { ...reply, headers: { ...reply.headers, [name]: value } };
}

/**
 * Whether a response with this status has no content (RFC 9110, section 6.4.1); no Content-Length is sent for it
 * either.
 */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304 || status < 200;
}

export function cancelBody(body: Reply["body"]): void {
  if (body instanceof Source) body.cancel();
}

/** Returns the body's length in bytes (for HEAD, the length that GET would send); `null` if unknown. */
function bodyLength({ body, length }: Reply, isHead: boolean): number | null {
  if (typeof body === "string") return Buffer.byteLength(body);
  if (body instanceof Uint8Array) return body.byteLength;
  return body === null && !isHead ? 0 : length ?? null;
}

const lineBreakOrNul = /[\0\r\n]/;

/**
 * Returns a response's headers as Node's flat list of names and values, and the body's length in bytes. Throws a
 * `TypeError` if a value contains a line break or NUL; Deno before 2.9.6 would send a line break.
 */
export function nodeHeaders(
  reply: Reply,
  options: { isHead: boolean; requestId: string; listenerHeaders: readonly string[] },
): { headers: string[]; length: number | null } {
  const headers: string[] = [];
  for (const name in reply.headers) {
    const value = reply.headers[name] as string;
    if (lineBreakOrNul.test(value)) throw new TypeError(`The header ${name} contains a line break or a NUL`);
    headers.push(name, value);
  }
  headers.push("X-Request-Id", options.requestId, ...options.listenerHeaders);
  const length = bodyLength(reply, options.isHead);
  if (length !== null && !isBodiless(reply.status)) headers.push("Content-Length", String(length));
  return { headers, length };
}
