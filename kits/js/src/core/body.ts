/**
 * Bodies read with a bound. This module is browser compatible.
 *
 * @module
 */

/**
 * All bytes of a stream; `null` as soon as there are more than `bytesMax`, and the rest is not read. Once `signal` is
 * aborted nothing more is read either, and it rejects with the signal's reason.
 */
export async function readBody(
  stream: ReadableStream<Uint8Array> | null,
  bytesMax: number,
  signal?: AbortSignal,
): Promise<Uint8Array | null> {
  if (stream === null) return new Uint8Array(0);
  const reader = stream.getReader();
  // Nobody waits for the rest to be thrown away, and it may fail. A read under way ends as at the stream's end.
  const cancel = () => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", cancel);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal?.throwIfAborted();
      if (done) break;
      length += value.length;
      if (length > bytesMax) {
        cancel();
        return null;
      }
      chunks.push(value);
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
  if (chunks.length === 1) return chunks[0] as Uint8Array;
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}
