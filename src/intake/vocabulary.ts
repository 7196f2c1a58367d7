/**
 * `GET /v1/vocabulary`.
 *
 * @module
 */

import { projectServices, requiredFields } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import type { Handler } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import type { Reference } from "../store/reference.ts";
import { publicRead, refuse } from "./reply.ts";

/**
 * The handler: the vocabulary as the validator has it, while it is no older than five minutes.
 *
 * Source: SPEC, Vocabulary; DECISIONS, The intake endpoint.
 */
export function vocabularyHandler(reference: () => Reference, nowMs: () => number): Handler {
  return ({ requestId }) => {
    const { areas, readAtMs } = reference();
    if (nowMs() - readAtMs > limits.vocabularyMaxAgeSeconds * 1000) {
      return refuse("not_accepting", { requestId, headers: publicRead });
    }
    const body = { project_area: areas, project_service: projectServices, required: requiredFields };
    return json(200, body, {
      ...publicRead,
      "Cache-Control": `public, max-age=${limits.vocabularyMaxAgeSeconds}`,
    });
  };
}
