/** `GET /api/plans`: the plans from a snapshot, rendered once a version. */

import { limits } from "../contract/limits.ts";
import type { Handler } from "../http/exchange.ts";
import { type CachedResponse, CompressedText } from "../http/cached_response.ts";
import { refusePlan } from "./reply.ts";

/** Any site's scripts may read the feed. */
export const anyOrigin: Readonly<Record<string, string>> = { "Access-Control-Allow-Origin": "*" };

/** The plans, as JSON. */
export interface Plans {
  /** The array's JSON text; `null` when the store cannot be read. */
  readonly current: string | null;
  /** The display name of a plan's `customer`, or the same text when no tenant has it as its slug. */
  customerName(customer: string): string;
  /** Resolves after a read that began after the call. */
  renew(): Promise<void>;
}

/**
 * The handler; 503 when the store cannot be read, and never an empty list, which would read as "nothing is for sale".
 * An empty list is read anew before it is served, because caches keep it for minutes. Source: SPEC, GET plans.
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
