/**
 * The RateLimit headers: one table for responses, documents and playground. This module is browser compatible.
 *
 * @module
 */

import type { Rate } from "./limits.ts";

/** A limit and its remaining budget. */
export interface Budget {
  readonly name: "ip" | "key" | "tenant";
  readonly rate: Rate;
  /** Requests allowed at once. */
  readonly remaining: number;
  /** Seconds until the budget is full. */
  readonly resetSeconds: number;
}

/** A header with one item per limit. */
interface RateHeader {
  readonly description: string;
  parameters(budget: Budget): string;
  /** Regular expression of the parameters. */
  readonly pattern: string;
}

/**
 * The headers by name. Source: DECISIONS, The intake endpoint (extra response headers).
 *
 * Chosen: `q` and `w` carry the sustained rate, because the draft has no parameter for a bucket's burst.
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

/** The header names. */
export const rateHeaderNames: readonly string[] = Object.keys(rateHeaders);

/** Adds a limit to the headers; `before` are those of the limits before it. */
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

/** The headers of a client's first request. */
export function firstBudgets(...limits: readonly Pick<Budget, "name" | "rate">[]): Record<string, string> {
  return limits.reduce<Record<string, string> | null>(
    (before, limit) => tellBudget({ ...limit, remaining: limit.rate.burst - 1, resetSeconds: 1 }, before),
    null,
  ) ?? {};
}
