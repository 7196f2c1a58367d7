/**
 * Rate limits before the key (per address) and after it (per key or tenant), their headers, and the limit on public
 * reads.
 */

import { getRandomValues } from "node:crypto";
import type { Rate } from "../contract/limits.ts";
import { addBudget, type Budget } from "../contract/rate_headers.ts";
import { limiterKey, type Networks, parseNetworks } from "../http/addresses.ts";
import type { Exchange, Reply } from "../http/exchange.ts";
import { type Allowance, type Seed, TokenBucketLimiter } from "../limiter/token_bucket.ts";
import type { IpLimit } from "../store/serving/reference.ts";

/** The result of charging one request: the decision, and the headers that report the rest of the budget. */
export interface Spent {
  readonly allowed: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

/** Takes 4 MiB; counts the requests of this process. */
function newLimiter(): TokenBucketLimiter {
  const [low, high] = getRandomValues(new Uint32Array(2)) as unknown as Seed;
  return new TokenBucketLimiter({ keysMax: 100_000, seed: [low, high] });
}

/** Counts by client address before authentication; IPv6 by /64. */
export class IpBudget {
  readonly #limiter = newLimiter();
  readonly #rate: Rate;
  #raised: readonly { networks: Networks; rate: Rate }[] = [];
  #raisedFrom: readonly IpLimit[] = [];

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Charges one request to an address; `raised` are limits agreed for certain networks. */
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
 * Counts public reads by client address. An allowed read has no RateLimit headers, because caches may share the
 * response.
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
   * Returns a router's guard: charges the address, and refuses over the limit; `refuse` gets the headers of the 429.
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

/** The party that a budget counts: an intake key, or a tenant on the forms surface. */
export interface Holder {
  readonly id: number | string;
  /** The raised limit in force, or `null` for the published one. */
  readonly raisedRate: Rate | null;
}

/** Counts by key or tenant, after authentication. */
export class HolderBudget {
  readonly #limiter = newLimiter();
  readonly #name: "key" | "tenant";
  readonly #rate: Rate;

  constructor(name: "key" | "tenant", rate: Rate) {
    this.#name = name;
    this.#rate = rate;
  }

  /** Charges one request to a holder; the headers report both budgets. */
  spend({ id, raisedRate }: Holder, ip: Spent, nowMs: number): Spent {
    const rate = raisedRate === null ? this.#rate : higher(raisedRate, this.#rate);
    return spentOf({ name: this.#name, rate }, this.#limiter.allow(String(id), rate, nowMs), ip);
  }
}

/** A limit raised for one surface applies to both, and lowers neither. */
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
  const headers = addBudget({ name, rate, remaining, resetSeconds }, before?.headers ?? null);
  if (!allowed) headers["Retry-After"] = String(retryAfterSeconds);
  return { allowed, headers };
}
