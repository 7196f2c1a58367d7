/**
 * Rate limits for posts, before authentication (per address) and after it (per key or tenant), and for public reads.
 */

import { getRandomValues } from "node:crypto";
import type { Rate } from "../contract/limits.ts";
import { addRateLimit, type RateLimitState } from "../contract/rate_headers.ts";
import { limiterKey, type Networks, parseNetworks } from "../http/addresses.ts";
import type { Exchange, Reply } from "../http/exchange.ts";
import { type Allowance, type Seed, TokenBucketLimiter } from "../limiter/token_bucket.ts";
import type { IpLimit } from "../store/serving/reference.ts";

/** Whether a request is allowed, and the headers that report the state of its rate limits. */
export interface RateDecision {
  readonly isAllowed: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

/** Creates a limiter for this process; it occupies 4 MiB. */
function createLimiter(): TokenBucketLimiter {
  const [low, high] = getRandomValues(new Uint32Array(2)) as unknown as Seed;
  return new TokenBucketLimiter({ keysMax: 100_000, seed: [low, high] });
}

/** Limits requests by client address (IPv6: by /64), before authentication. */
export class IpRateLimiter {
  readonly #limiter = createLimiter();
  readonly #rate: Rate;
  #raised: readonly { networks: Networks; rate: Rate }[] = [];
  #parsedFrom: readonly IpLimit[] = [];

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /**
   * Applies the limit for an address to a request; `raised` contains the limits that the operator has raised for
   * networks.
   */
  allow(address: string, raised: readonly IpLimit[], nowMs: number): RateDecision {
    const rate = this.#rateFor(address, raised);
    return toDecision({ name: "ip", rate }, this.#limiter.allow(limiterKey(address), rate, nowMs), null);
  }

  #rateFor(address: string, raised: readonly IpLimit[]): Rate {
    if (raised.length === 0) return this.#rate;
    if (raised !== this.#parsedFrom) {
      this.#parsedFrom = raised;
      this.#raised = raised.map(({ network, rate }) => ({ networks: parseNetworks(network), rate }));
    }
    const limit = this.#raised.find(({ networks }) => networks.contains(address));
    return limit === undefined ? this.#rate : higherRate(limit.rate, this.#rate);
  }
}

/**
 * Limits public reads by client address. Allowed reads get no RateLimit headers, because caches may share the response.
 */
export class ReadRateLimiter {
  readonly #limiter = createLimiter();
  readonly #rate: Rate;
  readonly #nowMs: () => number;

  constructor(rate: Rate, nowMs: () => number) {
    this.#rate = rate;
    this.#nowMs = nowMs;
  }

  /**
   * Returns a guard for a router, which returns `null` for an allowed read, otherwise the reply that `refuse` renders
   * with the rate limit headers.
   */
  guard(
    refuse: (headers: Readonly<Record<string, string>>) => Reply,
  ): (exchange: Exchange) => Reply | null {
    return ({ clientAddress }) => {
      const allowance = this.#limiter.allow(limiterKey(clientAddress), this.#rate, this.#nowMs());
      return allowance.isAllowed
        ? null
        : refuse(toDecision({ name: "ip", rate: this.#rate }, allowance, null).headers);
    };
  }
}

/** The token bucket of an intake key, a tenant, or a forms key with a raised limit. */
export interface Bucket {
  readonly id: number | string;
  /** The raised limit in force; `null` if the published limit applies. */
  readonly raisedRate: Rate | null;
}

/** Limits requests by key or tenant, after authentication. */
export class AuthenticatedRateLimiter {
  readonly #limiter = createLimiter();
  readonly #name: "key" | "tenant";
  readonly #rate: Rate;

  constructor(name: "key" | "tenant", rate: Rate) {
    this.#name = name;
    this.#rate = rate;
  }

  /** Applies a bucket's limit to a request; the headers also report `ip`, the decision for the address. */
  allow({ id, raisedRate }: Bucket, ip: RateDecision, nowMs: number): RateDecision {
    const rate = raisedRate === null ? this.#rate : higherRate(raisedRate, this.#rate);
    return toDecision({ name: this.#name, rate }, this.#limiter.allow(String(id), rate, nowMs), ip);
  }
}

/** Returns the higher rate and the higher burst, because a raised limit applies to surfaces with different published limits. */
function higherRate(raised: Rate, published: Rate): Rate {
  return {
    perMinute: Math.max(raised.perMinute, published.perMinute),
    burst: Math.max(raised.burst, published.burst),
  };
}

function toDecision(
  { name, rate }: Pick<RateLimitState, "name" | "rate">,
  { isAllowed, remaining, resetSeconds, retryAfterSeconds }: Allowance,
  earlier: RateDecision | null,
): RateDecision {
  const headers = addRateLimit({ name, rate, remaining, resetSeconds }, earlier?.headers ?? null);
  if (!isAllowed) headers["Retry-After"] = String(retryAfterSeconds);
  return { isAllowed, headers };
}
