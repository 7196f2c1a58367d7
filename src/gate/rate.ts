/**
 * The two budgets of a key-gated post, one before the key by client address, one after it, and the headers that
 * tell a caller what is left of them; and the budget of the public reads.
 *
 * @module
 */

import { getRandomValues } from "node:crypto";
import type { Rate } from "../contract/limits.ts";
import { type Budget, tellBudget } from "../contract/rate_headers.ts";
import { limiterKey, type Networks, parseNetworks } from "../http/addresses.ts";
import type { Exchange, Reply } from "../http/exchange.ts";
import { type Allowance, type Seed, TokenBucketLimiter } from "../limiter/token_bucket.ts";
import type { IpLimit } from "../store/serving/reference.ts";

/** One request's share of a budget: whether there was one, and what the answer tells of the rest. */
export interface Spent {
  readonly allowed: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

/** A limiter of 4 MiB. It counts what comes to this process. */
function newLimiter(): TokenBucketLimiter {
  const [low, high] = getRandomValues(new Uint32Array(2)) as unknown as Seed;
  return new TokenBucketLimiter({ keysMax: 100_000, seed: [low, high] });
}

/** Counts by client address, before authentication. IPv6 clients are counted by their /64. */
export class IpBudget {
  readonly #limiter = newLimiter();
  readonly #rate: Rate;
  #raised: readonly { networks: Networks; rate: Rate }[] = [];
  #raisedFrom: readonly IpLimit[] = [];

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Spends one request of an address's budget; `raised` are the limits agreed for some networks. */
  spend(address: string, raised: readonly IpLimit[], nowMs: number): Spent {
    const rate = this.#rateOf(address, raised);
    return spentOf({ name: "ip", rate }, this.#limiter.allow(limiterKey(address), rate, nowMs), null);
  }

  #rateOf(address: string, raised: readonly IpLimit[]): Rate {
    if (raised.length === 0) return this.#rate;
    if (raised !== this.#raisedFrom) {
      this.#raisedFrom = raised;
      this.#raised = raised.map(({ network, rate }) => ({ networks: parseNetworks(network), rate }));
    }
    const found = this.#raised.find(({ networks }) => networks.contains(address));
    return found === undefined ? this.#rate : higher(found.rate, this.#rate);
  }
}

/**
 * Counts the public reads by client address. Chosen: an allowed read does not tell what is left of the budget, because
 * its answer may be kept by a cache and given to others.
 */
export class ReadBudget {
  readonly #limiter = newLimiter();
  readonly #rate: Rate;
  readonly #nowMs: () => number;

  constructor(rate: Rate, nowMs: () => number) {
    this.#rate = rate;
    this.#nowMs = nowMs;
  }

  /**
   * What a surface's router asks before it answers a read: spends one of the address's budget, and refuses what is over
   * it. `refuse` gets the headers of the 429.
   */
  refuseBy(
    refuse: (headers: Readonly<Record<string, string>>) => Reply,
  ): (exchange: Exchange) => Reply | null {
    return ({ clientAddress }) => {
      const allowance = this.#limiter.allow(limiterKey(clientAddress), this.#rate, this.#nowMs());
      return allowance.allowed
        ? null
        : refuse(spentOf({ name: "ip", rate: this.#rate }, allowance, null).headers);
    };
  }
}

/** Who holds a key, as the budget counts: the intake's by key, the forms' by tenant. */
export interface Holder {
  readonly id: number | string;
  /** A raised limit that is in force, or `null` for the published one. */
  readonly raisedRate: Rate | null;
}

/** Counts by who holds the key, after authentication. */
export class HolderBudget {
  readonly #limiter = newLimiter();
  readonly #name: "key" | "tenant";
  readonly #rate: Rate;

  /** `name` is what the headers call it. */
  constructor(name: "key" | "tenant", rate: Rate) {
    this.#name = name;
    this.#rate = rate;
  }

  /** Spends one request of a holder's budget; the headers tell of both budgets. */
  spend({ id, raisedRate }: Holder, ip: Spent, nowMs: number): Spent {
    const rate = raisedRate === null ? this.#rate : higher(raisedRate, this.#rate);
    return spentOf({ name: this.#name, rate }, this.#limiter.allow(String(id), rate, nowMs), ip);
  }
}

/** A raised limit is agreed for one surface and holds on both; where the other allows more anyway, it lowers nothing. */
function higher(raised: Rate, published: Rate): Rate {
  return {
    perMinute: Math.max(raised.perMinute, published.perMinute),
    burst: Math.max(raised.burst, published.burst),
  };
}

function spentOf(
  { name, rate }: Pick<Budget, "name" | "rate">,
  { allowed, remaining, resetSeconds, retryAfterSeconds }: Allowance,
  before: Spent | null,
): Spent {
  const headers = tellBudget({ name, rate, remaining, resetSeconds }, before?.headers ?? null);
  if (!allowed) headers["Retry-After"] = String(retryAfterSeconds);
  return { allowed, headers };
}
