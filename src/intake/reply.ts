/**
 * The intake's replies: the acknowledgement and the error body.
 *
 * @module
 */

import { type ErrorCode, errors } from "../contract/errors.ts";
import type { Reason } from "../contract/fields.ts";
import type { Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";

/** What an error body holds besides its code. */
export interface Refusal {
  /** `null` for the answers that are made before the handler: 413 and the per-IP 429. */
  readonly requestId: string | null;
  readonly fields?: Readonly<Record<string, Reason>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error reply with its status. Source: SPEC, Error body. */
export function refuse(code: ErrorCode, refusal: Refusal): Reply {
  return json(errors[code].status, {
    error: code,
    ...(refusal.requestId === null ? {} : { request_id: refusal.requestId }),
    ...(refusal.fields === undefined ? {} : { fields: refusal.fields }),
  }, refusal.headers);
}

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
