/**
 * `GET /api/plans`: the plans from a snapshot, rendered once a version.
 *
 * @module
 */

import { limits } from "../contract/limits.ts";
import type { Handler } from "../http/exchange.ts";
import { Prepared, type PreparedReplies } from "../http/prepared.ts";
import { refusePlan } from "./reply.ts";

/** Any site's scripts may read the feed. */
export const anyOrigin: Readonly<Record<string, string>> = { "Access-Control-Allow-Origin": "*" };

/**
 * The handler. `snapshot` gives the array's JSON text, or `null` when the store cannot be read: then the answer is 503
 * and never an empty list, which would read as "nothing is for sale".
 *
 * Source: SPEC, GET plans; DECISIONS, Plans, checkout, site.
 */
export function planFeedHandler(snapshot: () => string | null): Handler {
  let rendered: { readonly text: string; readonly replies: PreparedReplies } | null = null;
  return (exchange) => {
    const text = snapshot();
    if (text === null) {
      return refusePlan("not_accepting", { requestId: exchange.requestId, headers: anyOrigin });
    }
    if (rendered?.text !== text) rendered = { text, replies: new Prepared(text).replies(headers) };
    return rendered.replies.to(exchange);
  };
}

const headers = {
  all: { ...anyOrigin, "Cache-Control": `public, max-age=${limits.plansMaxAgeSeconds}` },
  content: { "Content-Type": "application/json" },
};
