/**
 * Bytes that arrive in pieces, in one buffer and up to a cap.
 *
 * @module
 */

import { Buffer } from "node:buffer";

const nothing = Buffer.alloc(0);

/**
 * The bytes so far.
 *
 * A first piece is kept as it came, which is the whole of a usual body. With the second one everything is copied into one
 * buffer that grows by doubling: each byte is copied a bounded number of times, and a sender of a byte at a time does not
 * make us hold some 200 bytes of objects for each.
 */
export class Gathered {
  readonly #bytesMax: number;
  readonly #expected: number;
  #room: Buffer = nothing;
  #length = 0;

  /** `expected` is an announced length, a hint only. */
  constructor({ bytesMax = Infinity, expected = 0 }: { bytesMax?: number; expected?: number } = {}) {
    this.#bytesMax = bytesMax;
    this.#expected = Math.min(expected, bytesMax);
  }

  /**
   * Takes the next piece, which must not change afterwards; `false`, and nothing is held any longer, when there are more
   * than the cap with it.
   */
  append(piece: Buffer): boolean {
    const length = this.#length + piece.length;
    if (length > this.#bytesMax) {
      this.clear();
      return false;
    }
    if (this.#length === 0) this.#room = piece;
    else {
      // The first piece fills its room, so nothing is ever written into somebody else's memory.
      if (length > this.#room.length) this.#grow(length);
      piece.copy(this.#room, this.#length);
    }
    this.#length = length;
    return true;
  }

  /** Forgets everything; what was given out before stays as it is. */
  clear(): void {
    this.#room = nothing;
    this.#length = 0;
  }

  /** How many there are. */
  get length(): number {
    return this.#length;
  }

  /** All of them, in their order. */
  get bytes(): Buffer {
    return this.#length === this.#room.length ? this.#room : this.#room.subarray(0, this.#length);
  }

  #grow(needed: number): void {
    const room = Buffer.allocUnsafeSlow(Math.max(this.#expected, Math.min(this.#bytesMax, 2 * needed)));
    this.#room.copy(room, 0, 0, this.#length);
    this.#room = room;
  }
}
