/**
 * `GET /api/plans`: the plans from a snapshot, rendered once a version.
 *
 * @module
 */

import { limits } from "../contract/limits.ts";
import type { Handler } from "../http/exchange.ts";
import { type CachedResponse, CompressedText } from "../http/cached_response.ts";
import { refusePlan } from "./reply.ts";

/** Any site's scripts may read the feed. */
export const anyOrigin: Readonly<Record<string, string>> = { "Access-Control-Allow-Origin": "*" };

/** The plans as the feed has them. */
export interface Plans {
  /** The array's JSON text; `null` when the store cannot be read. */
  readonly current: string | null;
  /** The display name of a plan's `customer`, or the same text when no tenant has it as its slug. */
  customerName(customer: string): string;
  /** Resolves when they have been read by a statement that began after the call. */
  renew(): Promise<void>;
}

/**
 * The handler. When the store cannot be read the answer is 503 and never an empty list, which would read as "nothing is
 * for sale". That nothing is, is asked of the store anew: a snapshot of the moment before the first plan came would be
 * kept by caches for minutes.
 *
 * Source: SPEC, GET plans; DECISIONS, Plans, checkout, site.
 */
export function planFeedHandler(plans: Plans): Handler {
  let rendered: { readonly text: string; readonly replies: CachedResponse } | null = null;
  return async (exchange) => {
    if (plans.current === "[]") await plans.renew();
    const text = plans.current;
    if (text === null) {
      return refusePlan("not_accepting", { requestId: exchange.requestId, headers: anyOrigin });
    }
    if (rendered?.text !== text) rendered = { text, replies: new CompressedText(text).replies(headers) };
    return rendered.replies.to(exchange);
  };
}

const headers = {
  all: { ...anyOrigin, "Cache-Control": `public, max-age=${limits.plansMaxAgeSeconds}` },
  content: { "Content-Type": "application/json" },
};
