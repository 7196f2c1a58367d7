/** Token buckets by key, in bounded memory. This module is browser compatible. */

import { limits, type Rate } from "../contract/limits.ts";

/** The secret of a {@linkcode KeyedHash}: two random 32-bit integers. */
export type Seed = readonly [number, number];

/**
 * HalfSipHash-2-4 with 64 bits of result, over the text's UTF-16 units, two to a word.
 *
 * Rejected: a hash without a key, because an attacker who picks IPv6 networks could choose which bucket is evicted.
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

  update(text: string): void {
    const [k0, k1] = this.#seed;
    this.#v0 = k0;
    this.#v1 = k1 ^ 0xee;
    this.#v2 = k0 ^ 0x6c796765;
    this.#v3 = k1 ^ 0x74656462;
    // Beyond the end `charCodeAt` returns NaN, which is 0 to bitwise operators; the length distinguishes it.
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

/** Limits requests by key. */
export interface Limiter {
  /** Requests one token for `key`; `nowMs` is in milliseconds of a monotonic clock. */
  allow(key: string, rate: Rate, nowMs: number): Allowance;
}

/** The decision on one request. */
export interface Allowance {
  readonly allowed: boolean;
  /** Requests allowed right after this one. */
  readonly remaining: number;
  /** Whole seconds until the next request is allowed; at least `limits.retryAfterSeconds`. */
  readonly retryAfterSeconds: number;
  /** Whole seconds until the bucket is full again. */
  readonly resetSeconds: number;
}

/** One token in debt units: at 1 request a minute, 1 ms earns 1 unit, so integer arithmetic is exact. */
export const unitsPerToken = 60_000;

/** Caps reported waits: a rate of zero must not render as `Infinity`. */
const waitSecondsMax = 3600;

/** Slots a key can be in. */
const waysMax = 8;

/**
 * One slot: two 32-bit hash halves, then three doubles: debt in units, time of the last update, time when the bucket is
 * full again. It stores debt rather than tokens left, so that a raised burst applies at once. All zero while free.
 */
const slotBytes = 32;

interface TokenBucketOptions {
  /** Slots, rounded up to a power of two of at least 8; each takes 32 bytes. */
  readonly keysMax: number;
  /** Random and secret: an attacker who knows it can choose keys that evict a given key. */
  readonly seed: Seed;
}

/**
 * Limits requests by key: a bucket starts full with `burst` tokens, each allowed request takes one, and `perMinute /
 * 60` a second return. A refused request takes none.
 *
 * Memory is allocated once: 32 bytes a slot, 4 MiB for 100,000 keys. A key has eight possible slots; when all are
 * taken, the bucket that would be full first is evicted, so a flood of new keys cannot reset a drained bucket.
 *
 * Rejected: a `Map` in LRU order (285 MB for a million addresses, and a flood decides what is evicted); GCRA, because
 * the rate may change between calls. Source: SPEC, Limits.
 */
export class TokenBucketLimiter implements Limiter {
  readonly #hash: KeyedHash;
  readonly #hashes: Uint32Array;
  readonly #books: Float64Array;
  readonly #setMask: number;

  /** Throws a `RangeError` when `keysMax` is below 1. */
  constructor({ keysMax, seed }: TokenBucketOptions) {
    if (!(keysMax >= 1)) throw new RangeError("The limiter needs room for at least one key");
    const slots = Math.max(waysMax, 2 ** Math.ceil(Math.log2(keysMax)));
    const table = new ArrayBuffer(slots * slotBytes);
    this.#hash = new KeyedHash(seed);
    this.#hashes = new Uint32Array(table);
    this.#books = new Float64Array(table);
    this.#setMask = slots / waysMax - 1;
  }

  get bytes(): number {
    return this.#books.byteLength;
  }

  /**
   * Requests one token for `key`; `nowMs` is in milliseconds of any clock, which may step back.
   *
   * The rate may change between calls: debt stays, is repaid at the current rate, and never exceeds one burst, so that
   * a raised limit applies at once and leaves no penalty when it ends.
   */
  allow(key: string, rate: Rate, nowMs: number): Allowance {
    const slot = this.#find(key);
    const books = this.#books;
    const at = slot * slotBytes / 8;
    const capacityUnits = rate.burst * unitsPerToken;
    const earnedUnits = Math.max(0, nowMs - (books[at + 2] as number)) * rate.perMinute;
    let debtUnits = Math.min(Math.max(0, (books[at + 1] as number) - earnedUnits), capacityUnits);

    const allowed = debtUnits + unitsPerToken <= capacityUnits;
    if (allowed) debtUnits += unitsPerToken;
    books[at + 1] = debtUnits;
    books[at + 2] = nowMs;
    books[at + 3] = debtUnits === 0 ? nowMs : nowMs + debtUnits / rate.perMinute;
    const lackUnits = debtUnits + unitsPerToken - capacityUnits;
    return {
      allowed,
      remaining: Math.floor((capacityUnits - debtUnits) / unitsPerToken),
      retryAfterSeconds: Math.max(limits.retryAfterSeconds, secondsToEarn(lackUnits, rate)),
      resetSeconds: secondsToEarn(debtUnits, rate),
    };
  }

  /** The key's slot; takes over another key's when none is free. */
  #find(key: string): number {
    this.#hash.update(key);
    const { low } = this.#hash;
    // Zero marks a free slot.
    const high = (this.#hash.high | 1) >>> 0;
    const first = (low & this.#setMask) * waysMax;
    let least = first;
    for (let slot = first; slot < first + waysMax; slot++) {
      const at = slot * slotBytes / 4;
      if (this.#hashes[at] === low && this.#hashes[at + 1] === high) return slot;
      if (this.#fullAtMs(slot) < this.#fullAtMs(least)) least = slot;
    }
    const at = least * slotBytes / 4;
    this.#hashes[at] = low;
    this.#hashes[at + 1] = high;
    this.#books[least * slotBytes / 8 + 1] = 0;
    return least;
  }

  #fullAtMs(slot: number): number {
    const isFree = this.#hashes[slot * slotBytes / 4 + 1] === 0;
    return isFree ? -Infinity : this.#books[slot * slotBytes / 8 + 3] as number;
  }
}

/** Whole seconds until the units are earned, rounded up so that a client does not return too early, and capped. */
export function secondsToEarn(units: number, { perMinute }: Rate): number {
  return units <= 0 ? 0 : Math.min(waitSecondsMax, Math.ceil(units / perMinute / 1000));
}
