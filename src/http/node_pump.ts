/**
 * Sends a stream as the body of one of Node's responses, no faster than the client takes it.
 *
 * @module
 */

import type { ServerResponse } from "node:http";

/** A stream has not the length that was announced. */
export class WrongLength extends Error {
  override readonly name = "WrongLength";
}

/**
 * Reads to the end, or until the reader is cancelled. `onChunk` is told the length of each chunk before it is
 * written. Rejects with what the stream fails with, and with {@linkcode WrongLength} when it has not the
 * `length` that was announced; the response is unfinished then.
 */
export async function pump(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  options: { response: ServerResponse; length: number | null; onChunk: (bytes: number) => void },
): Promise<void> {
  const { response, length, onChunk } = options;
  let sent = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (done) break;
    sent += value.byteLength;
    // Bytes beyond it would be taken for the next response.
    if (length !== null && sent > length) throw new WrongLength("The stream is longer than announced");
    onChunk(value.byteLength);
    if (!response.write(value) && !response.destroyed) await writable(response);
  }
  // A cancelled reader is at its end too: its response is closed.
  if (length !== null && sent < length && !response.destroyed) {
    throw new WrongLength("The stream is shorter than announced");
  }
  response.end();
}

function writable(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}
