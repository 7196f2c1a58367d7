import { Buffer } from "node:buffer";

const noBytes = Buffer.alloc(0);

/**
 * Collects chunks up to a cap. Keeps the first chunk, usually the whole body, and copies later ones into a buffer that
 * doubles, so that tiny chunks cost neither quadratic copying nor an object each.
 */
export class BodyBuffer {
  readonly #bytesMax: number;
  readonly #expectedBytes: number;
  #buffer: Buffer = noBytes;
  #length = 0;

  /** `expected` is the announced length, which sizes the first allocation. */
  constructor({ bytesMax = Infinity, expected = 0 }: { bytesMax?: number; expected?: number } = {}) {
    this.#bytesMax = bytesMax;
    this.#expectedBytes = Math.min(expected, bytesMax);
  }

  /** Appends a chunk, which must not change afterwards; above the cap, clears the buffer and returns `false`. */
  append(chunk: Buffer): boolean {
    const length = this.#length + chunk.length;
    if (length > this.#bytesMax) {
      this.clear();
      return false;
    }
    if (this.#length === 0) this.#buffer = chunk;
    else {
      // The first chunk has no spare room, so its memory is never overwritten.
      if (length > this.#buffer.length) this.#grow(length);
      chunk.copy(this.#buffer, this.#length);
    }
    this.#length = length;
    return true;
  }

  /** Empties the buffer; the bytes that {@linkcode bytes} returned earlier stay valid. */
  clear(): void {
    this.#buffer = noBytes;
    this.#length = 0;
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): Buffer {
    return this.#length === this.#buffer.length ? this.#buffer : this.#buffer.subarray(0, this.#length);
  }

  #grow(neededBytes: number): void {
    const larger = Buffer.allocUnsafeSlow(
      Math.max(this.#expectedBytes, Math.min(this.#bytesMax, 2 * neededBytes)),
    );
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
