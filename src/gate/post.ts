/**
 * What stands before both key-gated posts, and their dedupe: the per-IP limit, the method, the body cap, and 503
 * when the store is away.
 *
 * @module
 */

import { limits } from "../contract/limits.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import type { Entry } from "../store/serving/accept.ts";
import type { Reference } from "../store/serving/reference.ts";
import { Unavailable } from "../store/pool.ts";
import { digest128 } from "./content.ts";
import type { UsableIdempotencyKey } from "./idempotency_key.ts";
import type { IpBudget, Verdict } from "./rate.ts";
import type { Refuse } from "./refusal.ts";

/** What the gate works with. */
export interface GateParts {
  readonly ipBudget: IpBudget;
  readonly reference: () => Reference;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
}

/** The codes that the gate answers with itself. */
export type GateCode =
  | "rate_limited"
  | "method_not_allowed"
  | "body_too_large"
  | "invalid_json"
  | "not_accepting";

/** A post that has passed. */
export interface PassedPost {
  readonly bytes: Uint8Array;
  /** With the headers of the budget that was spent. */
  readonly ip: Verdict;
  /** When the request arrived, on the clock of {@linkcode GateParts}. */
  readonly arrivedAtMs: number;
}

/** Answers a post that has passed. */
export type AnswerPost = (exchange: Exchange, post: PassedPost) => Promise<Reply>;

/**
 * The handler of a post, for every method. Refused requests of every kind spend the address's budget.
 *
 * Source: SPEC, POST intake (order of checks); DECISIONS, The intake endpoint and Forms.
 */
export function gatedPost(parts: GateParts, refuse: Refuse<GateCode>, answer: AnswerPost): Handler {
  return async (exchange) => {
    const { requestId } = exchange;
    const arrivedAtMs = parts.nowMs();
    const ip = parts.ipBudget.spend(exchange.clientAddress, parts.reference().ipLimits, arrivedAtMs);
    const { headers } = ip;
    if (!ip.allowed) return refuse("rate_limited", { requestId: null, headers });

    if (exchange.method !== "POST") {
      return refuse("method_not_allowed", { requestId, headers: { ...headers, Allow: "POST" } });
    }

    const body = await exchange.readBody(limits.bodyBytesMax);
    if (body.kind === "too_large") return refuse("body_too_large", { requestId: null, headers });
    if (body.kind === "incomplete") return refuse("invalid_json", { requestId, headers });

    try {
      return await answer(exchange, { bytes: body.bytes, ip, arrivedAtMs });
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return refuse("not_accepting", { requestId, headers });
    }
  };
}

/**
 * What makes a later post a duplicate: its Idempotency-Key, or without one its content. Each is a space of its own;
 * leads and form submissions have theirs apart.
 */
export function dedupe(
  kind: Entry["kind"],
  idempotencyKey: UsableIdempotencyKey,
  contentDigest: string,
): Pick<Entry, "space" | "digest" | "contentDigest" | "idempotencyKey"> {
  const [byKey, byContent] = kind === "lead" ? ["k", "c"] as const : ["K", "C"] as const;
  return idempotencyKey.kind === "present"
    ? {
      space: byKey,
      digest: digest128(idempotencyKey.bytes),
      contentDigest,
      idempotencyKey: idempotencyKey.text,
    }
    : { space: byContent, digest: contentDigest, contentDigest, idempotencyKey: null };
}
