/**
 * A limiter that shares its keys' buckets with the same limiter on other nodes. Time is passed in. This module is
 * browser compatible.
 *
 * @module
 */

import type { Rate } from "../contract/limits.ts";
import { KeyedHash, type Seed } from "./keyed_hash.ts";
import { Lease } from "./lease.ts";
import { coldRate, resumedTokens, unseenRate } from "./share.ts";
import { type Allowance, type Limiter, TokenBucketLimiter } from "./token_bucket.ts";

/**
 * The keys of one limiter that are leased at a time. One more takes the place of that which was asked for longest ago: its
 * debt stays here, so a flood from many addresses neither takes a share of anybody's limit nor frees anybody of a debt.
 */
export const leasesMax = 2_048;

/** What a limiter needs. */
export interface LeasedLimiterOptions {
  /** Makes a secret seed of this process alone. */
  readonly newSeed: () => Seed;
  /** Until when other nodes use the key, as far as this one was told; `-Infinity` when nothing was said. */
  readonly usedElsewhereUntilMs: (hash: number) => number;
  /** Called when a key is to be leased at once. */
  readonly onNeed: () => void;
}

const keysMax = 100_000;
// What others have spent of a key counts for as long.
const minuteMs = 60_000;
// Those that have used least are forgotten first, and then count as unused.
const seenKeysMax = 32_768;

/**
 * Limits requests by key, on one node or on several.
 *
 * - Alone, it is a {@linkcode TokenBucketLimiter} and nothing else.
 * - A key that is hardly used spends from the bucket of this node; see {@linkcode coldRate}.
 * - A key that is used more is leased: this node tells what was spent, and is told what it may spend until it asks
 *   again; see {@linkcode Lease}. So is a key at its first request here that another node has leased.
 */
export class LeasedLimiter implements Limiter {
  /** By {@linkcode Lease.hash}; those that were asked for longest ago come first. */
  readonly leases: Map<number, Lease> = new Map();
  readonly #options: LeasedLimiterOptions;
  readonly #local: TokenBucketLimiter;
  /** Made when there is a second node. */
  #seen: TokenBucketLimiter | null = null;
  #hash: KeyedHash | null = null;
  #nodes = 1;
  /** The most that was told of a lease that is no more. */
  #toldMost = 0;

  constructor(options: LeasedLimiterOptions) {
    this.#options = options;
    this.#local = new TokenBucketLimiter({ keysMax, seed: options.newSeed() });
  }

  /** The nodes that share it, this one included. */
  get nodes(): number {
    return this.#nodes;
  }

  /** So many nodes share it. `seed` is the same on all of them and of no other limiter; another one voids all leases. */
  share(nodes: number, seed: Seed | null): void {
    this.#nodes = nodes;
    if (seed === null) return;
    this.leases.clear();
    this.#hash = new KeyedHash(seed);
  }

  /** See {@linkcode Limiter}. */
  allow(key: string, rate: Rate, nowMs: number): Allowance {
    if (this.#hash === null || this.#nodes < 2 && this.leases.size === 0) {
      return this.#local.allow(key, rate, nowMs);
    }
    this.#hash.update(key);
    // As much of it as a number holds exactly.
    const hash = (this.#hash.high & 0x1f_ffff) * 2 ** 32 + this.#hash.low;
    const lease = this.leases.get(hash);
    if (this.#nodes < 2) return this.#allowAlone(key, rate, { lease, nowMs });
    if (lease !== undefined) return lease.spend(rate, this.#nodes, nowMs);
    const cold = coldRate(rate, this.#nodes);
    const usedElsewhereUntilMs = this.#options.usedElsewhereUntilMs(hash);
    const isElsewhere = nowMs < usedElsewhereUntilMs + minuteMs;
    if (!isElsewhere && this.#isUnseen(key, rate, nowMs)) return this.#local.allow(key, cold, nowMs);
    if (this.leases.size >= leasesMax) this.#replaceOne(nowMs);
    const owed = this.#local.owed(key, cold, nowMs);
    const unspent = (nowMs - usedElsewhereUntilMs) * rate.perMinute / minuteMs;
    const held = Math.min(
      cold.burst - owed,
      isElsewhere ? resumedTokens(rate, this.#nodes, { unspent, spent: Infinity }) : cold.burst,
    );
    const opened = new Lease(
      { hash, key, rate, nodes: this.#nodes, base: this.#toldMost, owed, held, usedElsewhereUntilMs },
      nowMs,
    );
    this.leases.set(hash, opened);
    this.#options.onNeed();
    return opened.spend(rate, this.#nodes, nowMs);
  }

  /** Forgets the leases that are idle. */
  sweep(nowMs: number): void {
    for (const lease of this.leases.values()) if (lease.isIdle(nowMs)) this.#forget(lease);
  }

  // Its row may live on, and what is told of another lease of the same key is to be more.
  #forget(lease: Lease): void {
    this.leases.delete(lease.hash);
    this.#toldMost = Math.max(this.#toldMost, lease.spent);
  }

  #replaceOne(nowMs: number): void {
    const { value: first } = this.leases.values().next() as { readonly value: Lease };
    this.#forget(first);
    this.#local.owe(first.key, first.owed(nowMs), first.rate, nowMs);
  }

  // The other nodes have gone: what is owed to all of them is owed here.
  #allowAlone(
    key: string,
    rate: Rate,
    { lease, nowMs }: { lease: Lease | undefined; nowMs: number },
  ): Allowance {
    if (lease !== undefined) {
      this.#forget(lease);
      this.#local.owe(key, lease.owed(nowMs), rate, nowMs);
    }
    return this.#local.allow(key, rate, nowMs);
  }

  #isUnseen(key: string, rate: Rate, nowMs: number): boolean {
    this.#seen ??= new TokenBucketLimiter({ keysMax: seenKeysMax, seed: this.#options.newSeed() });
    return this.#seen.allow(key, unseenRate(rate, this.#nodes), nowMs).allowed;
  }
}
