/** Handles `GET /api/plans` from a snapshot of the plans. */

import { limits } from "../contract/limits.ts";
import type { Handler } from "../http/exchange.ts";
import { type CachedResponse, CompressedText } from "../http/cached_response.ts";
import { refusePlan } from "./reply.ts";

export const anyOrigin: Readonly<Record<string, string>> = { "Access-Control-Allow-Origin": "*" };

export interface Plans {
  /** The plans as a JSON array; `null` if the store cannot be read. */
  readonly current: string | null;
  /** Returns the display name of a plan's `customer`, or `customer` itself if no tenant has this slug. */
  customerName(customer: string): string;
  /** Rereads the plans; resolves when a read that started after this call has ended. */
  renew(): Promise<void>;
}

/**
 * Creates the handler. It responds with 503 if the store cannot be read, and rereads an empty list before serving it,
 * because caches keep the response for minutes.
 *
 * Source: SPEC, GET plans.
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
    return rendered.replies.replyTo(exchange);
  };
}

const headers = {
  all: { ...anyOrigin, "Cache-Control": `public, max-age=${limits.plansMaxAgeSeconds}` },
  content: { "Content-Type": "application/json" },
};
