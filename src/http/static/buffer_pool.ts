/**
 * The memory that downloads go through: pieces that are used again and again, few of them large.
 *
 * @module
 */

/**
 * Buffers of two sizes. A download gets a large one as long as not too many are out, else a small one, so that all
 * downloads together hold a bounded amount however many wait for their clients.
 *
 * Measured with 1,000 stalled clients on Node 24: a fresh buffer for every piece left 260 MiB of resident memory
 * behind, most of it garbage that the allocator keeps.
 */
export class BufferPool {
  readonly #largeMax: number;
  readonly #large: Uint8Array[] = [];
  readonly #small: Uint8Array[] = [];
  #largeOut = 0;

  /** At most `largeMax` large pieces are out at a time. */
  constructor(options: { readonly largeMax: number }) {
    this.#largeMax = options.largeMax;
  }

  /** How many large pieces are out. */
  get largeOut(): number {
    return this.#largeOut;
  }

  /** A piece for what is left of a download. */
  take(bytesLeft: number): Uint8Array {
    if (bytesLeft <= smallBytes || this.#largeOut >= this.#largeMax) {
      return this.#small.pop() ?? new Uint8Array(smallBytes);
    }
    this.#largeOut++;
    return this.#large.pop() ?? new Uint8Array(largeBytes);
  }

  /** Takes a piece back that nothing refers to any longer: its bytes are with the kernel, or their connection is closed. */
  give(piece: Uint8Array): void {
    if (piece.length === largeBytes) this.#largeOut--;
    const free = piece.length === largeBytes ? this.#large : this.#small;
    if (free.length < freeMax) free.push(piece);
  }
}

// A client that takes less than a piece within the listener's bound for stalled readers loses its download: with
// 20 s that is 3 KB/s for a large one and 0.8 KB/s for a small one.
const largeBytes = 64 * 1024;
const smallBytes = 16 * 1024;
/** What is kept of the small ones when nobody needs them: 16 MiB at most. */
const freeMax = 1_024;
