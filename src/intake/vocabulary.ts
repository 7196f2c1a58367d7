/**
 * `GET /v1/vocabulary`.
 *
 * @module
 */

import { projectServices, requiredFields } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import type { Handler } from "../http/exchange.ts";
import { Prepared, type PreparedReplies } from "../http/prepared.ts";
import { publicRead } from "../http/reply.ts";
import type { Area, Reference } from "../store/serving/reference.ts";
import { refuse } from "./reply.ts";

/**
 * The handler: the vocabulary as the validator has it, while it is no older than five minutes; rendered when it
 * changes, not for each who asks.
 *
 * Source: SPEC, Vocabulary; DECISIONS, The intake endpoint.
 */
export function vocabularyHandler(reference: () => Reference, nowMs: () => number): Handler {
  let areasRead: readonly Area[] | null = null;
  let text = "";
  let replies: PreparedReplies | null = null;
  return (exchange) => {
    const { areas, readAtMs } = reference();
    if (nowMs() - readAtMs > limits.vocabularyMaxAgeSeconds * 1000) {
      return refuse("not_accepting", { requestId: exchange.requestId, headers: publicRead });
    }
    if (areasRead !== areas) {
      areasRead = areas;
      const now = JSON.stringify({
        project_area: areas,
        project_service: projectServices,
        required: requiredFields,
      });
      // The snapshot is read again every second and seldom says anything else.
      if (now !== text) [text, replies] = [now, new Prepared(now).replies(headers)];
    }
    return (replies as PreparedReplies).to(exchange);
  };
}

const headers = {
  all: { ...publicRead, "Cache-Control": `public, max-age=${limits.vocabularyMaxAgeSeconds}` },
  content: { "Content-Type": "application/json" },
};
