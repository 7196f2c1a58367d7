/**
 * Bytes that come in pieces, in one buffer.
 *
 * @module
 */

import { Buffer } from "node:buffer";

const nothing = Buffer.alloc(0);

/**
 * Grows by doubling, so that each byte is copied a bounded number of times however small the pieces are; a single piece
 * is not copied at all.
 */
export class Gathered {
  #room: Buffer = nothing;
  #length = 0;

  /** Takes the next piece, which must not change afterwards. */
  append(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (this.#length === 0) this.#room = piece;
    else {
      // The first piece fills its room, so nothing is ever written into somebody else's memory.
      if (length > this.#room.length) {
        const room = Buffer.allocUnsafe(2 * length);
        this.#room.copy(room, 0, 0, this.#length);
        this.#room = room;
      }
      piece.copy(this.#room, this.#length);
    }
    this.#length = length;
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
    return this.#room.subarray(0, this.#length);
  }
}
