/** Collects bytes up to a cap. */

import { Buffer } from "node:buffer";

const nothing = Buffer.alloc(0);

/**
 * A growing buffer. The first piece is kept as it is, usually the whole body; later pieces are copied into a buffer
 * that doubles, so tiny pieces cost neither quadratic copies nor an object each.
 */
export class BodyBuffer {
  readonly #bytesMax: number;
  readonly #expected: number;
  #room: Buffer = nothing;
  #length = 0;

  /** `expected` is the announced length, a hint. */
  constructor({ bytesMax = Infinity, expected = 0 }: { bytesMax?: number; expected?: number } = {}) {
    this.#bytesMax = bytesMax;
    this.#expected = Math.min(expected, bytesMax);
  }

  /** Appends a piece, which must not change afterwards; over the cap it clears the buffer and returns `false`. */
  append(piece: Buffer): boolean {
    const length = this.#length + piece.length;
    if (length > this.#bytesMax) {
      this.clear();
      return false;
    }
    if (this.#length === 0) this.#room = piece;
    else {
      // The first piece fills its room, so its memory is never written to.
      if (length > this.#room.length) this.#grow(length);
      piece.copy(this.#room, this.#length);
    }
    this.#length = length;
    return true;
  }

  /** Releases the bytes; those returned before stay valid. */
  clear(): void {
    this.#room = nothing;
    this.#length = 0;
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): Buffer {
    return this.#length === this.#room.length ? this.#room : this.#room.subarray(0, this.#length);
  }

  #grow(needed: number): void {
    const room = Buffer.allocUnsafeSlow(Math.max(this.#expected, Math.min(this.#bytesMax, 2 * needed)));
    this.#room.copy(room, 0, 0, this.#length);
    this.#room = room;
  }
}
