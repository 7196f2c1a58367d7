/**
 * The body of a request to the actions process.
 *
 * @module
 */

import type { IncomingMessage } from "node:http";

// A posted body has 64 KiB at most; lead and extra are made of it, and escapes add to them.
const requestBytesMax = 512 * 1024;

/** A body that has been read whole, or why it has not. */
export type RequestBody = { readonly text: string } | "not_utf8" | "too_large" | "aborted";

/**
 * Reads a body. What is too large is reported at once; the rest of it is read and thrown away, so that the answer
 * arrives.
 */
export function readBody(request: IncomingMessage): Promise<RequestBody> {
  return new Promise((settle) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    request.on("data", (chunk: Uint8Array) => {
      bytes += chunk.length;
      if (bytes <= requestBytesMax) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      settle("too_large");
    });
    request.on("end", () => settle(decode(Buffer.concat(chunks))));
    request.on("close", () => settle("aborted"));
    if (Number(request.headers["content-length"] ?? 0) > requestBytesMax) settle("too_large");
  });
}

function decode(bytes: Uint8Array): RequestBody {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return "not_utf8";
  }
}
