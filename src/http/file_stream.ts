/**
 * Sends a range of a file piece by piece, as the client takes it.
 *
 * @module
 */

import type { FileVersion } from "./file_version.ts";
import type { ByteRange } from "./range.ts";

/** Big pieces for a few downloads, small ones when there are many: what all of them hold stays bounded. */
export class PieceBudget {
  readonly #bytes: number;
  #held = 0;

  /** All downloads together hold about so many bytes, and `pieceBytesMin` each at least. */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** The bytes of the pieces that are held. */
  get held(): number {
    return this.#held;
  }

  /** How many bytes the next piece may have; held until they are given back. */
  take(bytesMax: number): number {
    const share = Math.floor((this.#bytes - this.#held) / shares / pieceBytesMin) * pieceBytesMin;
    const bytes = Math.min(bytesMax, pieceBytesMax, Math.max(pieceBytesMin, share));
    this.#held += bytes;
    return bytes;
  }

  /** The client has taken a piece, or is gone. */
  give(bytes: number): void {
    this.#held -= bytes;
  }
}

// A client that takes less than a piece within the listener's bound for stalled readers loses its download:
// with 20 s that is 0.8 KB/s for the smallest and 13 KB/s for the largest, which are for a quiet server.
const pieceBytesMin = 16 * 1024;
const pieceBytesMax = 256 * 1024;
/** Part of what is left of the budget that one piece may take. */
const shares = 32;
/** 1,000 clients that stop reading hold 32 MiB together, each further one 16 KiB. */
const budget = new PieceBudget(32 * 1024 * 1024);

/**
 * A stream of the range. The version must have been acquired for it, and is released when the stream ends, fails
 * or is cancelled. It fails with what {@linkcode FileVersion.bytes} throws, so that no bytes of another state of
 * the file follow. Nothing is read ahead of the client.
 */
export function streamRange(version: FileVersion, { start, end }: ByteRange): ReadableStream<Uint8Array> {
  let at = start;
  let held = 0;
  let isReading = false;
  let isOver = false;
  const giveBack = () => {
    budget.give(held);
    held = 0;
  };
  const finish = () => {
    // The descriptor is not closed under a read.
    if (isReading) return;
    giveBack();
    version.release();
  };
  return new ReadableStream({
    async pull(controller) {
      giveBack();
      if (at === end) {
        isOver = true;
        finish();
        controller.close();
        return;
      }
      held = budget.take(end - at);
      isReading = true;
      try {
        const bytes = await version.bytes({ start: at, end: at + held });
        isReading = false;
        if (isOver) return finish();
        at += held;
        controller.enqueue(bytes);
      } catch (error) {
        isReading = false;
        finish();
        if (isOver) return;
        isOver = true;
        throw error;
      }
    },
    cancel() {
      if (isOver) return;
      isOver = true;
      finish();
    },
  }, { highWaterMark: 0 });
}
