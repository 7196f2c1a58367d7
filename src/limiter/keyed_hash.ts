/**
 * A hash of text under a secret seed, so that nobody can choose texts that meet. This module is browser compatible.
 *
 * @module
 */

/** The secret of a {@linkcode KeyedHash}: two random 32-bit integers. */
export type Seed = readonly [number, number];

/**
 * HalfSipHash-2-4 with 64 bits of result, over the text's UTF-16 units, two to a word.
 *
 * Chosen: of the SipHash family the one made for 32-bit words, because JavaScript has no faster integers. Rejected:
 * a hash without a key, because a stranger who picks IPv6 networks would choose whose bucket is forgotten.
 */
export class KeyedHash {
  /** The low and the high half of the last result, unsigned. */
  low = 0;
  high = 0;
  readonly #seed: Seed;
  #v0 = 0;
  #v1 = 0;
  #v2 = 0;
  #v3 = 0;

  constructor(seed: Seed) {
    this.#seed = seed;
  }

  /** Hashes a text into `low` and `high`. */
  update(text: string): void {
    const [k0, k1] = this.#seed;
    this.#v0 = k0;
    this.#v1 = k1 ^ 0xee;
    this.#v2 = k0 ^ 0x6c796765;
    this.#v3 = k1 ^ 0x74656462;
    // `charCodeAt` gives NaN beyond the end, which is 0 to the bitwise operators; the length tells it from a zero.
    for (let at = 0; at < text.length; at += 2) {
      this.#absorb(text.charCodeAt(at) | text.charCodeAt(at + 1) << 16);
    }
    this.#absorb(text.length);
    this.#v2 ^= 0xee;
    this.#mix(4);
    this.low = (this.#v1 ^ this.#v3) >>> 0;
    this.#v1 ^= 0xdd;
    this.#mix(4);
    this.high = (this.#v1 ^ this.#v3) >>> 0;
  }

  #absorb(word: number): void {
    this.#v3 ^= word;
    this.#mix(2);
    this.#v0 ^= word;
  }

  #mix(rounds: number): void {
    let v0 = this.#v0;
    let v1 = this.#v1;
    let v2 = this.#v2;
    let v3 = this.#v3;
    for (let round = 0; round < rounds; round++) {
      v0 = v0 + v1 | 0;
      v1 = (v1 << 5 | v1 >>> 27) ^ v0;
      v0 = v0 << 16 | v0 >>> 16;
      v2 = v2 + v3 | 0;
      v3 = (v3 << 8 | v3 >>> 24) ^ v2;
      v0 = v0 + v3 | 0;
      v3 = (v3 << 7 | v3 >>> 25) ^ v0;
      v2 = v2 + v1 | 0;
      v1 = (v1 << 13 | v1 >>> 19) ^ v2;
      v2 = v2 << 16 | v2 >>> 16;
    }
    this.#v0 = v0;
    this.#v1 = v1;
    this.#v2 = v2;
    this.#v3 = v3;
  }
}
