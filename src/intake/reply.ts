/**
 * The intake's replies: the acknowledgement and the error body.
 *
 * @module
 */

import { errors } from "../contract/errors.ts";
import { refuseBy } from "../gate/refusal.ts";
import type { Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";

/** An error reply with its status. Source: SPEC, Error body. */
export const refuse = refuseBy(errors);

/** What an acknowledgement says. */
export interface Acknowledgement {
  readonly eventId: string;
  readonly receivedAt: string;
  readonly source: string;
  readonly flags: readonly string[];
}

/** 202 `accepted` or 200 `duplicate`. Source: SPEC, Lead acknowledgement. */
export function acknowledge(
  status: "accepted" | "duplicate",
  acknowledgement: Acknowledgement,
  headers: Readonly<Record<string, string>>,
): Reply {
  return json(status === "accepted" ? 202 : 200, {
    event_id: acknowledgement.eventId,
    status,
    received_at: acknowledgement.receivedAt,
    source: acknowledgement.source,
    flags: acknowledgement.flags,
  }, headers);
}

/** Headers of the public reads: any site's scripts may read them. */
export const publicRead: Readonly<Record<string, string>> = { "Access-Control-Allow-Origin": "*" };
