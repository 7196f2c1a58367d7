/** Reports in a sentence what happened to a post, the same in `ctl` and the console. */

import type { ListedCollision } from "./collisions.ts";
import { effectName, type ShownEffect } from "./event_effects.ts";
import { endedAt, removalKind, type StoredEvent } from "./events.ts";
import type { Found, FoundPosts } from "./find.ts";
import { laterText } from "./post_log.ts";
import { crmWaitTexts } from "./route_states.ts";

/** Returns what happened to a result, without a final period. It may contain words of callers and CRMs. */
export function whatHappened(found: Found): string {
  if (found.kind === "event") return eventText(found.event, found.effects);
  return found.kind === "collision" ? collisionText(found.collision) : postsText(found);
}

const list = new Intl.ListFormat("en-GB");

function eventText(event: StoredEvent, effects: readonly ShownEffect[]): string {
  const { delivery, submission, acceptedFrom } = event;
  const accepted = acceptedFrom === null ? "accepted" : "accepted by an operator";
  const judged = submission === null || submission.verdict === "clean" || delivery.state === "held"
    ? accepted
    : `${accepted}, held as ${submission.verdict}, released`;
  const returned = event.returned === null ? "" : `; returned (${event.returned.reason})`;
  const removed = event.removed === null ? "" : `; content ${removalKind(event)}`;
  return `${
    delivery.state === "held" ? heldText(event) : `${judged}, ${deliveryText(event, effects)}`
  }${returned}${removed}`;
}

function heldText({ submission }: StoredEvent): string {
  const verdict = submission?.verdict === "honeypot"
    ? "as a bot's, by the hidden field"
    : `as spam, score ${submission?.score}`;
  return `accepted and held ${verdict}${submission?.dismissedAt == null ? "" : ", dismissed"}`;
}

function deliveryText(
  { delivery, receivedAt, sandbox }: StoredEvent,
  effects: readonly ShownEffect[],
): string {
  const done = effects.filter(({ state }) => state === "done").map(({ effect }) =>
    effect === "email" ? effect : effectName(effect)
  );
  const to = done.length === 0 ? "" : ` to ${list.format(new Set(done))}`;
  const sent = to === "" ? "" : `; delivered${to} so far`;
  switch (delivery.state) {
    case "delivered": {
      if (sandbox) return "not sent: sandbox";
      const attempt = delivery.attempts.find(({ outcome }) => outcome === "delivered");
      const when = attempt === undefined ? "" : ` ${laterText(receivedAt, endedAt(attempt))}`;
      return `delivered${when === " at the same time" ? " at once" : when}${to}`;
    }
    case "pending": {
      const reason = delivery.reason === null ? "" : ` (${crmWaitTexts[delivery.reason] ?? delivery.reason})`;
      return `waiting${reason}${sent}`;
    }
    case "sending":
      return `being sent now${sent}`;
    case "dead":
      return `not delivered: dead after ${
        attemptsText(delivery.attempts.filter(({ outcome }) => outcome !== "marked").length)
      }${delivery.reason === null ? "" : ` (${delivery.reason})`}${sent}`;
    case "marked": {
      const by = effects.find(({ markedBy }) => markedBy)?.markedBy ?? "an operator";
      return `marked as done by ${by}, nothing was sent then${sent}`;
    }
    case "erased":
      return "removed before delivery";
    case "held":
      return "held";
  }
}

const attemptsText = (count: number) => `${count} ${count === 1 ? "attempt" : "attempts"}`;
const postCount = (count: number) => count === 1 ? "" : ` (${count} posts)`;

function collisionText({ eventId, state, acceptedEventId, count, otherPerson }: ListedCollision): string {
  const settled = acceptedEventId === null ? state : `accepted as ${acceptedEventId}`;
  const person = otherPerson ? "perhaps another person" : "the same person";
  return `answered duplicate: ${person}, with other content under the Idempotency-Key of ${eventId}; collision ${settled}${
    postCount(count)
  }`;
}

function postsText(posts: FoundPosts): string {
  const { error, status, fields, eventId, eventReceivedAt, firstAt, idempotencyKey, count } = posts;
  if (error !== null) {
    const failing = Object.entries(fields ?? {}).map(([name, reason]) => `${name} ${reason}`);
    return `refused: ${failing.length === 0 ? `${status} ${error}` : failing.join(", ")}${postCount(count)}`;
  }
  const posted = eventReceivedAt === null ? "" : `, posted ${laterText(eventReceivedAt, firstAt)}`;
  return `duplicate of ${eventId}${posted} with the same ${idempotencyKey === null ? "content" : "key"}${
    postCount(count)
  }`;
}
