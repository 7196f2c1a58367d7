/**
 * Stored events as JSON: the members that `ctl` and the operator's listener both show.
 *
 * @module
 */

import type { Attempt, Delivery } from "./deliveries.ts";
import type { AcceptedCollision, ListedEvent, StoredEvent } from "./events.ts";

/** The members of an event that hold no content. */
export function headingJson(event: Omit<ListedEvent, "state">) {
  return {
    event_id: event.eventId,
    kind: event.kind,
    tenant: event.tenant,
    source: event.source,
    received_at: event.receivedAt,
    flags: event.flags,
    idempotency_key: event.idempotencyKey,
  };
}

/** What was found of a form submission; nothing of a lead. */
export function foundJson({ found }: StoredEvent) {
  if (found === null) return {};
  return {
    form_key: found.formKey,
    verdict: found.verdict,
    score: found.score,
    reasons: found.reasons,
    released_at: found.releasedAt,
    dismissed_at: found.dismissedAt,
  };
}

/** The other event when a collision was accepted as an event of its own; nothing of all others. */
export function acceptedJson({ acceptedFrom, acceptedBeside }: StoredEvent) {
  const json = ({ collision, eventId }: AcceptedCollision) => ({ collision, event_id: eventId });
  return {
    ...(acceptedFrom === null ? {} : { accepted_from: json(acceptedFrom) }),
    ...(acceptedBeside.length === 0 ? {} : { accepted_collisions: acceptedBeside.map(json) }),
  };
}

/** What has removed the content of an event, in a word. */
export function goneWord({ removed }: StoredEvent): "erased" | "expired" {
  return removed?.by === "retention" ? "expired" : "erased";
}

/** What has removed the content, and when; nothing while it is there. */
export function removedJson(event: StoredEvent) {
  return event.lead === null ? { content: goneWord(event), removed_at: event.removed?.at ?? null } : {};
}

/** The attempts as JSON has them. */
export function attemptsJson(attempts: readonly Attempt[]) {
  return attempts.map(({ number, at, outcome, status, reason, durationMs, spent }) => ({
    number,
    at,
    outcome,
    status,
    reason,
    duration_ms: durationMs,
    spent,
  }));
}

/** The member `delivery` of an event. */
export function deliveryJson(delivery: Delivery) {
  const { state } = delivery;
  const attempts = attemptsJson(delivery.attempts);
  switch (state) {
    case "pending":
      return { state, due_at: delivery.dueAt, reason: delivery.reason, attempts };
    case "sending":
      return { state, lease_until: delivery.leaseUntil, attempts };
    case "held":
    case "erased":
    case "delivered":
      return { state, attempts };
    case "dead":
      return { state, died_at: delivery.diedAt, reason: delivery.reason, attempts };
  }
}
