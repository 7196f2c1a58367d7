/**
 * Token buckets by key, in bounded memory. Time is passed in. This module is browser compatible.
 *
 * @module
 */

import { limits, type Rate } from "../contract/limits.ts";

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

/** Limits requests by key. */
export interface Limiter {
  /** Asks for one request of `key` at `nowMs`, milliseconds of a monotonic clock. */
  allow(key: string, rate: Rate, nowMs: number): Allowance;
}

/** What the limiter says of one request. */
export interface Allowance {
  readonly allowed: boolean;
  /** Requests that would be allowed right after this one. */
  readonly remaining: number;
  /** Whole seconds until the next request would be allowed, no less than `limits.retryAfterSeconds`. */
  readonly retryAfterSeconds: number;
  /** Whole seconds until the bucket is full again. */
  readonly resetSeconds: number;
}

/**
 * One token in the unit of the books: at one request a minute a millisecond earns one unit. With whole
 * milliseconds and whole rates the arithmetic is exact, so that the hundredth refill is not late by a
 * rounding error.
 */
export const unitsPerToken = 60_000;

/** Bounds every wait that is told, so that a rate of zero does not render as `Infinity`. */
const waitSecondsMax = 3600;

/** The slots that one key may be in. */
const waysMax = 8;

/**
 * A slot: the two halves of the key's hash, then what has been taken and not been earned back, in units (zero when the
 * bucket is full, whatever its size: kept instead of the tokens left, so that a raised burst counts at once), when
 * that was reckoned, and when the bucket is full again. All zero while nobody has had it.
 */
const slotBytes = 32;

/** Construction options of {@linkcode TokenBucketLimiter}. */
interface TokenBucketOptions {
  /** Slots for keys, rounded up to a power of two and to eight; each takes 32 bytes. */
  readonly keysMax: number;
  /** Random and secret: whoever knows it can choose keys that push out a certain one. */
  readonly seed: Seed;
}

/**
 * Limits requests by key: a bucket starts full with `burst` tokens, each allowed request takes one, and
 * `perMinute / 60` a second come back. A refused request takes none.
 *
 * The memory is taken once and never grows: 32 bytes a slot, 4 MiB for 100,000 keys, however many come. A key has
 * eight slots that it may be in; when all are taken, the one whose bucket is full again first is forgotten and starts
 * full when it comes back. So a flood of new keys pushes out those that have lost least by it, themselves among them:
 * whoever has drained a bucket keeps it drained, and nobody is refused for what others did. A bucket that is full loses
 * nothing; of the others nine must meet, and nobody can choose where a key goes: with as many as a quarter of the slots
 * under way at a time it happens in one of 4,000 places.
 *
 * Source: SPEC, Limits.
 *
 * Chosen: a table of numbers. Rejected: a `Map` of objects in a ring by use, which took 285 MB of resident memory when a
 * million addresses had come (100,000 remembered), and forgot by the order of use, so that a flood decided who is
 * forgotten. Also rejected: one number a key (GCRA), because the rate may change from call to call.
 */
export class TokenBucketLimiter implements Limiter {
  readonly #hash: KeyedHash;
  readonly #hashes: Uint32Array;
  readonly #books: Float64Array;
  readonly #setMask: number;

  /** Throws a `RangeError` when there would be no room for a key. */
  constructor({ keysMax, seed }: TokenBucketOptions) {
    if (!(keysMax >= 1)) throw new RangeError("The limiter needs room for at least one key");
    const slots = Math.max(waysMax, 2 ** Math.ceil(Math.log2(keysMax)));
    const table = new ArrayBuffer(slots * slotBytes);
    this.#hash = new KeyedHash(seed);
    this.#hashes = new Uint32Array(table);
    this.#books = new Float64Array(table);
    this.#setMask = slots / waysMax - 1;
  }

  /** The memory of the table in bytes. */
  get bytes(): number {
    return this.#books.byteLength;
  }

  /**
   * Asks for one request of `key` at `nowMs`, milliseconds of any clock.
   *
   * The rate may differ from call to call. Chosen: what was taken stays taken and the time since then
   * earns at the rate of this call, but no one owes more than a burst, because a window of raised limits
   * must work at once and leave no punishment when it ends. When the clock steps back nothing is earned
   * and time runs on from there; when it leaps ahead no bucket gets more than full.
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

  /** The key's slot, which may have been another's until now. */
  #find(key: string): number {
    this.#hash.update(key);
    const { low } = this.#hash;
    // Zero is nobody's: one of the 64 bits says that the slot is taken.
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

  /** When the slot's bucket is full again; one that nobody has had always was. */
  #fullAtMs(slot: number): number {
    const isFree = this.#hashes[slot * slotBytes / 4 + 1] === 0;
    return isFree ? -Infinity : this.#books[slot * slotBytes / 8 + 3] as number;
  }
}

/** Whole seconds until so many units are earned, bounded. Chosen: rounded up, because a client that comes back early is refused again. */
export function secondsToEarn(units: number, { perMinute }: Rate): number {
  return units <= 0 ? 0 : Math.min(waitSecondsMax, Math.ceil(units / perMinute / 1000));
}
