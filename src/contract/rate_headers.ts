/**
 * The headers that tell of the rate limits: one table, of which the answers, the documents and what the playground shows
 * are made. This module is browser compatible.
 *
 * @module
 */

import type { Rate } from "./limits.ts";

/** A limit and what is left of it. */
export interface Budget {
  readonly name: "ip" | "key" | "tenant";
  readonly rate: Rate;
  /** Requests that would be allowed at once. */
  readonly remaining: number;
  /** Until all of them would be again. */
  readonly resetSeconds: number;
}

/** A header of an item for each limit; what it says of one is a list of parameters. */
interface RateHeader {
  readonly description: string;
  parameters(budget: Budget): string;
  /** Of the parameters. */
  readonly pattern: string;
}

/**
 * The headers by name. Source: DECISIONS, The intake endpoint (extra response headers).
 *
 * Chosen: the draft's `q` and `w` carry the sustained rate, because a bucket's burst has no parameter there; `r` counts
 * what may be sent at once and can therefore exceed neither burst nor rate for long.
 */
export const rateHeaders: Readonly<Record<string, RateHeader>> = {
  "RateLimit-Policy": {
    description:
      "The limits that count here, as the IETF draft *RateLimit header fields for HTTP* writes them: `q` requests in `w` " +
      'seconds, sustained. `"ip"` counts by address, `"key"` by key, `"tenant"` by customer.',
    parameters: ({ rate }) => `q=${rate.perMinute};w=60`,
    pattern: String.raw`q=\d+;w=\d+`,
  },
  "RateLimit": {
    description: "What is left of each limit: `r` requests at once, all of them again in `t` seconds.",
    parameters: ({ remaining, resetSeconds }) => `r=${remaining};t=${resetSeconds}`,
    pattern: String.raw`r=\d+;t=\d+`,
  },
};

/** Their names. */
export const rateHeaderNames: readonly string[] = Object.keys(rateHeaders);

/** The headers after one more limit was looked at; `before` are those of the limit before it. */
export function tellBudget(
  budget: Budget,
  before: Readonly<Record<string, string>> | null,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name in rateHeaders) {
    const item = `"${budget.name}";${(rateHeaders[name] as RateHeader).parameters(budget)}`;
    headers[name] = before === null ? item : `${before[name]}, ${item}`;
  }
  return headers;
}

/** The headers of the first request of a client whose limits are untouched. */
export function firstBudgets(...limits: readonly Pick<Budget, "name" | "rate">[]): Record<string, string> {
  return limits.reduce<Record<string, string> | null>(
    (before, limit) => tellBudget({ ...limit, remaining: limit.rate.burst - 1, resetSeconds: 1 }, before),
    null,
  ) ?? {};
}
