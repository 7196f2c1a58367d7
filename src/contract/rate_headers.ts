/** Formats and documents the RateLimit headers. This module is browser compatible. */

import type { Rate } from "./limits.ts";

/** The state of a rate limit for one client. */
export interface RateLimitState {
  readonly name: "ip" | "key" | "tenant";
  readonly rate: Rate;
  /** The number of further requests that are allowed at once. */
  readonly remaining: number;
  /** The seconds until `burst` requests are allowed at once again. */
  readonly resetSeconds: number;
}

interface RateHeader {
  readonly description: string;
  parameters(state: RateLimitState): string;
  readonly pattern: string;
}

/** Chosen: `q` and `w` are the sustained rate, because the draft has no burst. Source: DECISIONS, The intake endpoint. */
export const rateHeaders: Readonly<Record<string, RateHeader>> = {
  "RateLimit-Policy": {
    description:
      "The limits that apply, in the format of the IETF draft *RateLimit header fields for HTTP*: `q` requests in `w` " +
      'seconds, sustained. `"ip"` is per address, `"key"` per key, `"tenant"` per customer.',
    parameters: ({ rate }) => `q=${rate.perMinute};w=60`,
    pattern: String.raw`q=\d+;w=\d+`,
  },
  "RateLimit": {
    description:
      "For each limit: `r` further requests are allowed at once; the full burst is available again in `t` seconds.",
    parameters: ({ remaining, resetSeconds }) => `r=${remaining};t=${resetSeconds}`,
    pattern: String.raw`r=\d+;t=\d+`,
  },
};

export const rateHeaderNames: readonly string[] = Object.keys(rateHeaders);

/** Returns the headers for a rate limit, appended to the headers for others (`earlier`, or `null`). */
export function addRateLimit(
  state: RateLimitState,
  earlier: Readonly<Record<string, string>> | null,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name in rateHeaders) {
    const item = `"${state.name}";${(rateHeaders[name] as RateHeader).parameters(state)}`;
    headers[name] = earlier === null ? item : `${earlier[name]}, ${item}`;
  }
  return headers;
}

/** Returns the RateLimit headers in a client's first response, for the documentation. */
export function initialRateHeaders(
  ...limits: readonly Pick<RateLimitState, "name" | "rate">[]
): Record<string, string> {
  return limits.reduce<Record<string, string> | null>(
    (earlier, limit) => addRateLimit({ ...limit, remaining: limit.rate.burst - 1, resetSeconds: 1 }, earlier),
    null,
  ) ?? {};
}
