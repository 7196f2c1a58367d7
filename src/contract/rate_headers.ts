/** The RateLimit headers, for responses and documents. This module is browser compatible. */

import type { Rate } from "./limits.ts";

export interface Budget {
  readonly name: "ip" | "key" | "tenant";
  readonly rate: Rate;
  /** Requests allowed at once. */
  readonly remaining: number;
  /** Seconds until the budget is full. */
  readonly resetSeconds: number;
}

interface RateHeader {
  readonly description: string;
  parameters(budget: Budget): string;
  readonly pattern: string;
}

/** Chosen: `q` and `w` carry the sustained rate: the draft has no burst. Source: DECISIONS, The intake endpoint. */
export const rateHeaders: Readonly<Record<string, RateHeader>> = {
  "RateLimit-Policy": {
    description:
      "The limits that apply, in the format of the IETF draft *RateLimit header fields for HTTP*: `q` requests in `w` " +
      'seconds, sustained. `"ip"` is per address, `"key"` per key, `"tenant"` per customer.',
    parameters: ({ rate }) => `q=${rate.perMinute};w=60`,
    pattern: String.raw`q=\d+;w=\d+`,
  },
  "RateLimit": {
    description: "The remaining budget of each limit: `r` requests at once, full again in `t` seconds.",
    parameters: ({ remaining, resetSeconds }) => `r=${remaining};t=${resetSeconds}`,
    pattern: String.raw`r=\d+;t=\d+`,
  },
};

export const rateHeaderNames: readonly string[] = Object.keys(rateHeaders);

/** Appends a limit to `before`, the headers of the limits before it. */
export function addBudget(
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

/** The headers of a client's first request, for the documents. */
export function firstBudgets(...limits: readonly Pick<Budget, "name" | "rate">[]): Record<string, string> {
  return limits.reduce<Record<string, string> | null>(
    (before, limit) => addBudget({ ...limit, remaining: limit.rate.burst - 1, resetSeconds: 1 }, before),
    null,
  ) ?? {};
}
