/**
 * What `lease_limits()` does, in memory: the same arithmetic on a clock that is passed in, for thousands of simulated
 * minutes. A test holds the two to one another.
 *
 * @module
 */

import type { Ask, Grant } from "../../../src/limiter/lease.ts";

interface Bucket {
  owed: number;
  spilled: number;
  atMs: number;
  toldAtMs: number;
  readonly leases: Map<
    string,
    { spent: number; held: number; spilled: number; demand: number; atMs: number }
  >;
}

/** The store of some nodes. */
export class LeaseStore {
  readonly #buckets = new Map<number, Bucket>();

  /** One node's call, at the store's time; the hashes are those that other nodes were told to have leased. */
  lease(node: string, asks: readonly Ask[], nowMs: number, toldMs: number | null): [Grant[], number[]] {
    const grants = asks.map((ask) => this.#grant(node, ask, nowMs));
    const told = toldMs === null
      ? []
      : [...this.#buckets].filter(([, { toldAtMs, leases }]) =>
        toldAtMs > nowMs - toldMs &&
        [...leases].some(([other, { atMs }]) => other !== node && atMs > nowMs - 10_000)
      ).map(([hash]) => hash);
    return [grants, told];
  }

  /** What a crash of the server leaves of unlogged tables. */
  forget(): void {
    this.#buckets.clear();
  }

  #grant(node: string, ask: Ask, nowMs: number): Grant {
    const { hash, rate, nodes, unleased, spent, confirmed, wanted } = ask;
    const bucket: Bucket = this.#buckets.get(hash) ?? {
      owed: ask.owed,
      spilled: 0,
      atMs: nowMs,
      toldAtMs: nowMs,
      leases: new Map(),
    };
    this.#buckets.set(hash, bucket);
    const fading = (atMs: number) => Math.exp(-Math.max(0, nowMs - atMs) / 15_000);
    const own = bucket.leases.get(node);
    const wasCutOff = ask.isCutOff && own !== undefined && own.atMs < nowMs - 1_000;
    const told = Math.max(0, spent - Math.max(own?.spent ?? 0, confirmed));
    const demand = wanted + (own === undefined ? 0 : own.demand * fading(own.atMs));
    const others = [...bucket.leases].filter(([id, { atMs }]) => id !== node && atMs > nowMs - 1_000)
      .map(([, lease]) => lease);
    const othersHeld = others.reduce((sum, { held }) => sum + held, 0);
    const othersDemand = others.reduce((sum, lease) => sum + lease.demand * fading(lease.atMs), 0);

    const earned = Math.max(0, nowMs - bucket.atMs) * rate.perMinute / 60_000;
    const spills = bucket.spilled + Math.max(0, earned - bucket.owed);
    const pays = wasCutOff ? Math.min(told, Math.max(0, spills - own.spilled)) : 0;
    bucket.owed = Math.max(0, bucket.owed - earned) + told - pays;
    bucket.spilled = spills - pays;
    bucket.atMs = nowMs;
    const isNews = own === undefined || own.atMs < nowMs - 1_000;
    if (bucket.toldAtMs < nowMs - (isNews ? 500 : 5_000)) bucket.toldAtMs = nowMs;

    const left = rate.burst - bucket.owed;
    const equal = 1 / (others.length + 1);
    const byDemand = demand + othersDemand === 0 ? equal : demand / (demand + othersDemand);
    const fair = left * (0.5 * equal + 0.5 * byDemand);
    const free = left - othersHeld;
    const held = Math.max(
      0,
      Math.floor(Math.min(fair, free)),
      wanted > 0 && free >= 1 ? 1 : 0,
      Math.min(unleased, Math.floor(left / nodes)),
    );
    bucket.leases.set(node, {
      spent: Math.max(own?.spent ?? 0, spent),
      held,
      spilled: bucket.spilled,
      demand,
      atMs: nowMs,
    });
    return { hash, held, left };
  }
}
