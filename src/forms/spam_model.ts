/** Serves the weights of the spam score to the playground. */

import { isSandboxFormsKey } from "../contract/api_key.ts";
import type { FormErrorCode } from "../contract/errors.ts";
import { type GateParts, Post } from "../gate/post.ts";
import { type CachedResponse, CompressedText } from "../http/cached_response.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { noStore } from "../http/reply.ts";
import { refuse } from "./handle.ts";
import { model } from "./spam/weights.ts";

/**
 * Returns the handler. Chosen: only for keys of a sandbox, so that the weights go to known web developers; with them, a
 * sender of spam could try out texts without posting any. A revoked key is refused when its cached lookup expires.
 */
export function spamModelHandler(parts: GateParts): Handler {
  let replies: CachedResponse | undefined;
  const respond = async (exchange: Exchange, post: Post<FormErrorCode>): Promise<Reply> => {
    if (await post.authenticate("forms") === null) return post.refuseKey("forms");
    if (!isSandboxFormsKey(exchange.header("x-api-key") ?? "")) return post.refuse("unauthorized", liveKey);
    replies ??= new CompressedText(JSON.stringify(model))
      .replies({ all: { "Cache-Control": noStore }, content: { "Content-Type": "application/json" } });
    return replies.replyTo(exchange);
  };
  return (exchange) => {
    const post = new Post<FormErrorCode>(exchange, parts, refuse);
    return respond(exchange, post).catch((error) => post.refuseUnavailable(error));
  };
}

const liveKey = {
  detail: "the weights are only for a key of a sandbox (form_test_)",
  reason: "live_key",
};
