/**
 * The intake's replies: the acknowledgement and the error body.
 *
 * @module
 */

import { errors } from "../contract/errors.ts";
import { refuseBy } from "../gate/refusal.ts";
import type { Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import type { Outcome } from "../store/serving/accept.ts";

/** An error reply with its status. Source: SPEC, Error body. */
export const refuse = refuseBy(errors);

/**
 * 202 `accepted` or 200 `duplicate`. `flags` are those of the post: a duplicate tells the first one's.
 *
 * Source: SPEC, Lead acknowledgement.
 */
export function acknowledge(
  outcome: Exclude<Outcome, { kind: "revoked" }>,
  { source, flags, headers }: {
    readonly source: string;
    readonly flags: readonly string[];
    readonly headers: Readonly<Record<string, string>>;
  },
): Reply {
  return json(outcome.kind === "accepted" ? 202 : 200, {
    event_id: outcome.eventId,
    status: outcome.kind,
    received_at: outcome.receivedAt,
    source,
    flags: outcome.kind === "accepted" ? flags : outcome.flags,
  }, headers);
}
