/**
 * The forms' replies: the acknowledgement and the error body.
 *
 * @module
 */

import { formErrors } from "../contract/errors.ts";
import { refuseBy } from "../gate/refusal.ts";
import type { Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import type { Outcome } from "../store/serving/accept.ts";

/** An error reply with its status. Source: DECISIONS, Forms. */
export const refuse = refuseBy(formErrors);

/**
 * 202 `accepted` or 200 `duplicate`.
 *
 * Source: DECISIONS, Forms. Chosen: a repeat is told as on the intake, with the id and the time of the first, because
 * the `Idempotency-Key` works as there; whether the submission is held shows in neither.
 */
export function acknowledge(
  { kind, eventId, receivedAt }: Exclude<Outcome, { kind: "revoked" }>,
  headers: Readonly<Record<string, string>>,
): Reply {
  return json(
    kind === "accepted" ? 202 : 200,
    { status: kind, submission_id: eventId, received_at: receivedAt },
    headers,
  );
}
