/**
 * Collects a request body with a cap, whatever its announced length.
 *
 * @module
 */

import type { Body } from "./exchange.ts";

/** The body is over the cap. */
export const tooLarge: Body = { kind: "too_large" };
/** The body will not arrive. */
export const incomplete: Body = { kind: "incomplete" };
/** There is no body. */
export const emptyBody: Body = { kind: "complete", bytes: new Uint8Array(0) };

/**
 * The bytes of a body so far.
 *
 * A first chunk is kept as it came, which is the whole of a usual body. With the second one everything is
 * copied into one buffer: a client that sends a byte at a time would otherwise make us hold some 200 bytes of
 * objects for each.
 */
export class BodyBuffer {
  readonly #bytesMax: number;
  readonly #expected: number;
  #buffer: Uint8Array | null = null;
  #isOwn = false;
  #length = 0;

  /** `expected` is the announced length, a hint only; 0 when there is none. */
  constructor(bytesMax: number, expected: number) {
    this.#bytesMax = bytesMax;
    this.#expected = Math.min(expected, bytesMax);
  }

  /** Adds a chunk; `false`, and nothing is held any longer, when the body is over the cap with it. */
  add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.byteLength;
    if (length > this.#bytesMax) {
      this.#buffer = null;
      return false;
    }
    if (this.#buffer === null) {
      this.#buffer = chunk;
    } else {
      if (!this.#isOwn || length > this.#buffer.byteLength) this.#grow(length);
      this.#buffer.set(chunk, this.#length);
    }
    this.#length = length;
    return true;
  }

  /** The whole body. */
  take(): Body {
    if (this.#buffer === null) return emptyBody;
    const bytes = this.#isOwn ? this.#buffer.subarray(0, this.#length) : this.#buffer;
    this.#buffer = null;
    return { kind: "complete", bytes };
  }

  #grow(needed: number): void {
    const held = this.#buffer as Uint8Array;
    const size = Math.max(needed, this.#expected, Math.min(this.#bytesMax, 2 * held.byteLength));
    const buffer = new Uint8Array(size);
    buffer.set(held.subarray(0, this.#length));
    this.#buffer = buffer;
    this.#isOwn = true;
  }
}
