/**
 * Sends a stream as the body of one of Node's responses, no faster than the client takes it.
 *
 * @module
 */

import type { ServerResponse } from "node:http";

/**
 * Reads to the end, or until the reader is cancelled. `onChunk` is told the length of each chunk before it is
 * written. Rejects with what the stream fails with; the response is unfinished then.
 */
export async function pump(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  options: { response: ServerResponse; onChunk: (bytes: number) => void },
): Promise<void> {
  const { response, onChunk } = options;
  while (true) {
    const { done, value } = await reader.read();
    if (done) break;
    onChunk(value.byteLength);
    if (!response.write(value) && !response.destroyed) await writable(response);
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
