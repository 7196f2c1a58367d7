/**
 * The compressed variants of a file.
 *
 * @module
 */

import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** Below this a header of its own costs more than is saved. */
const plainBytesMax = 256;

/**
 * Whether variants are made here. Chosen: on Node only, because Deno's libraries pack the same text into other bytes,
 * and the same content is to make the same files. Rejected: gzip with Huffman codes alone, which is the same on both
 * and twice as large.
 */
export const isPacking = !("Deno" in globalThis);

/** `.br` and `.gz` of a text, each only where it is smaller; none where they are not made. */
export function packed(plain: Uint8Array): (readonly [ending: string, bytes: Uint8Array])[] {
  if (!isPacking || plain.length < plainBytesMax) return [];
  const brotli = brotliCompressSync(plain, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    },
  });
  const gzip = gzipSync(plain, { level: 9 });
  // The header has the time (which is 0 here) and the operating system: 255 is "unknown".
  gzip.fill(0, 4, 8);
  gzip[9] = 255;
  const variants = [[".br", brotli], [".gz", gzip]] as const;
  return variants.filter(([, bytes]) => bytes.length < plain.length);
}
