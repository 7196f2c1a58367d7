/** Reports in a sentence what happened to a post, the same in `ctl` and the console. */

import { shortEventIdLength } from "../../contract/event_id.ts";
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
  const named = (wanted: ShownEffect["state"]) => {
    const names = effects.filter(({ state }) => state === wanted).map(({ effect }) =>
      effect === "email" ? effect : effectName(effect)
    );
    return list.format(new Set(names));
  };
  const [done, marked] = [named("done"), named("marked")];
  const sent = done === "" ? "" : `; delivered to ${done} so far`;
  const markedBy = effects.find((effect) => effect.markedBy)?.markedBy;
  const by = ` as done by ${markedBy ?? "an operator"}`;
  switch (delivery.state) {
    case "delivered": {
      if (sandbox) return "not sent: sandbox";
      const attempt = delivery.attempts.find(({ outcome }) => outcome === "delivered");
      const when = attempt === undefined ? "" : ` ${laterText(receivedAt, endedAt(attempt))}`;
      return `delivered${when}${done === "" ? "" : ` to ${done}`}${
        markedBy === undefined ? "" : `; ${marked} marked${by}`
      }`;
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
      }${delivery.reason === null ? "" : ` (${delivery.reason})`}${
        done === "" ? "" : `; only ${done} received it`
      }`;
    case "marked":
      return `marked${by}, nothing was sent then${done === "" ? "" : `; delivered to ${done} before`}`;
    case "erased":
      return "removed before delivery";
    case "held":
      return "held";
  }
}

const short = (eventId: string | null) => `${eventId?.slice(0, shortEventIdLength)}…`;
const attemptsText = (count: number) => `${count} ${count === 1 ? "attempt" : "attempts"}`;
const postCount = (count: number) => count === 1 ? "" : ` (${count} posts)`;

function collisionText({ eventId, state, acceptedEventId, count, otherPerson }: ListedCollision): string {
  const settled = acceptedEventId === null ? state : `accepted as ${short(acceptedEventId)}`;
  return `got 200 duplicate: ${otherContent(eventId, otherPerson)}; collision ${settled}${postCount(count)}`;
}

function otherContent(eventId: string | null, mayBeOther: boolean): string {
  const person = mayBeOther ? ", perhaps from another person," : "";
  return `other content${person} under the Idempotency-Key of ${short(eventId)}`;
}

function postsText(posts: FoundPosts): string {
  const { error, status, fields, eventId, eventReceivedAt, firstAt, isByKey, isCollision, count } = posts;
  if (error !== null) {
    const failing = Object.entries(fields ?? {}).map(([name, reason]) => `${name} ${reason}`);
    return `refused: ${failing.length === 0 ? `${status} ${error}` : failing.join(", ")}${postCount(count)}`;
  }
  if (isCollision) return `got 200 duplicate: ${otherContent(eventId, false)}${postCount(count)}`;
  const posted = eventReceivedAt === null ? "" : `, posted ${laterText(eventReceivedAt, firstAt)}`;
  return `duplicate of ${short(eventId)}${posted} with the same ${isByKey ? "key" : "content"}${
    postCount(count)
  }`;
}
