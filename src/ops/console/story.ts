/**
 * The moments in the life of an event, in the order of time, and what comes next.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import type { Attempt, StoredEvent } from "../../store/operator/events.ts";
import type { AuditEntry } from "../../store/operator/audit.ts";
import type { EventSurroundings } from "../../store/operator/event_effects.ts";
import { deedOf } from "./deeds.ts";
import { reasonText } from "./state.ts";
import { counted, duration, type PageClock, shown, time } from "./text.ts";

/** Something that has happened to an event. */
export interface Moment {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly tone: "good" | "warn" | "bad" | null;
  readonly title: Markup;
  readonly text: Markup | null;
}

/** What is known beside the event. */
interface Beside {
  readonly around: EventSurroundings;
  readonly audit: readonly AuditEntry[];
  readonly clock: PageClock;
}

/** All that has happened to an event, the earliest first. */
export function momentsOf(event: StoredEvent, { around, audit, clock }: Beside): Moment[] {
  const { delivery } = event;
  const moments = [
    received(event, around),
    ...delivery.attempts.map((attempt) => attempted(attempt, { event, clock })),
    ...around.collisions.map((one) => collided(one, event)),
    ...audit.map(noted),
    ...(delivery.state === "dead" ? [died(delivery.diedAt, delivery.reason)] : []),
    ...removed(around),
    ...delivered(event, { around, clock }),
  ];
  // What has one time stays in this order.
  return moments.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function collided(one: EventSurroundings["collisions"][number], { acceptedBeside }: StoredEvent): Moment {
  const accepted = acceptedBeside.find(({ collision }) => collision === one.id);
  return {
    at: one.firstAt,
    tone: "warn",
    title: markup`Another one came under its Idempotency-Key`,
    text: markup`It was kept aside${
      one.count > 1 && `, posted ${counted(one.count, "time")}`
    }: <a href="/collisions/${one.id}">compare the two</a>${
      accepted !== undefined &&
      markup`; it is an event of its own now, <a class="id" href="/leads/${accepted.eventId}">${accepted.eventId}</a>`
    }`,
  };
}

function received(event: StoredEvent, around: EventSurroundings): Moment {
  const { acceptedFrom, found } = event;
  return {
    at: event.receivedAt,
    tone: "good",
    title: markup`${acceptedFrom === null ? "Received and committed" : "Accepted by an operator"}`,
    text: markup`From ${shown(event.source)} with key ${around.keyId}; ${
      acceptedFrom !== null
        ? markup`it was kept aside before as <a href="/collisions/${acceptedFrom.collision}">collision ${acceptedFrom.collision}</a>,
under the Idempotency-Key of <a class="id" href="/leads/${acceptedFrom.eventId}">${acceptedFrom.eventId}</a>.`
        : markup`${
          found === null || found.verdict === "clean"
            ? "event and delivery record in one transaction."
            : markup`held back as <strong>${found.verdict}</strong>, without a delivery record.`
        } Only then the caller was told <code>accepted</code>.`
    }${event.flags.length > 0 && markup` ${counted(event.flags.length, "flag")}.`}`,
  };
}

const outcomes: Readonly<Record<Attempt["outcome"], { tone: Moment["tone"]; text: string }>> = {
  delivered: { tone: "good", text: "the actions tier has done every effect" },
  refused: { tone: "bad", text: "the actions tier answered otherwise" },
  unreachable: { tone: "warn", text: "the actions tier gave no answer" },
  lost: { tone: "warn", text: "the process that made it ended; found when its lease ran out" },
};

function attempted(
  attempt: Attempt,
  { event, clock }: { event: StoredEvent; clock: PageClock },
): Moment {
  const { tone, text } = outcomes[attempt.outcome];
  const isLast = attempt.number === event.delivery.attempts.at(-1)?.number;
  const { delivery } = event;
  return {
    at: attempt.at,
    tone,
    title: markup`Attempt ${attempt.number}: ${attempt.outcome}`,
    text: markup`${text}${attempt.status !== null && markup`, status <strong>${attempt.status}</strong>`}${
      attempt.reason !== null && markup`, ${reasonText(attempt.reason)}`
    }${attempt.durationMs !== null && `, in ${duration(attempt.durationMs)}`}${
      !attempt.spent && attempt.outcome !== "delivered" && "; it does not count towards the last one"
    }${isLast && delivery.state === "pending" && markup`; next try ${time(delivery.dueAt, clock)}`}`,
  };
}

function died(at: string, reason: string | null): Moment {
  return {
    at,
    tone: "bad",
    title: markup`Given up`,
    text: markup`It is a dead letter${
      reason !== null && markup`: ${reasonText(reason)}`
    }. Its content is kept.`,
  };
}

function removed({ removed: one }: EventSurroundings): Moment[] {
  if (one === null) return [];
  const isErasure = one.by === "erasure";
  return [{
    at: one.at,
    tone: null,
    title: markup`${isErasure ? "Erased for the person's sake" : "Removed at the end of its retention"}`,
    text: markup`Its content is gone; the id, the time and the Idempotency-Key's digest are kept.`,
  }];
}

function noted(entry: AuditEntry): Moment {
  return {
    at: entry.at,
    tone: null,
    title: markup`${sentences[entry.action] ?? deedOf(entry)}`,
    text: markup`By ${shown(entry.actor)}${
      entry.claimed !== null && markup` (says: ${shown(entry.claimed)})`
    }${entry.detail !== null && sentences[entry.action] !== undefined && markup`: ${deedOf(entry)}`}`,
  };
}

const sentences: Readonly<Record<string, string>> = {
  "dead.replay": "Replayed by an operator",
  "dead.done": "Said to be with the customer already, by an operator",
  "event.hold": "Held after a restore, until an operator decides",
  "event.send_again": "Sent again by an operator",
  "submission.release": "Released by an operator",
  "submission.dismiss": "Dismissed by an operator: it stays held",
  "collision.accept": "What was kept aside was accepted as a lead of its own, by an operator",
  "collision.dismiss": "What was kept aside was dismissed by an operator",
  "person.erase_begin": "An operator began to erase it",
  "person.erase": "Erased by an operator",
  "event.erase": "Erased by an operator",
};

/** A sandbox tenant's lead is delivered without an effect, so nothing else would say so. */
function delivered(
  event: StoredEvent,
  { around }: { around: EventSurroundings; clock: PageClock },
): Moment[] {
  if (event.delivery.state !== "delivered" || !around.sandbox) return [];
  const at = event.delivery.attempts.at(-1)?.at ?? event.receivedAt;
  return [{
    at,
    tone: "good",
    title: markup`No effect, as for every lead of a sandbox tenant`,
    text: null,
  }];
}

/** What is to be expected, or done, now. */
export function whatNext(
  event: StoredEvent,
  { around, clock }: { around: EventSurroundings; clock: PageClock },
): Markup {
  const { delivery } = event;
  switch (delivery.state) {
    case "pending":
      if (!around.sandbox && !around.hasRoute) {
        return markup`It waits: the tenant has <strong>no route</strong>. Give it one with <code>ctl tenant route ${event.tenant} …</code>; it goes at once then.`;
      }
      return markup`${Date.parse(delivery.dueAt) > clock.nowMs ? "Next try" : "Due since"} ${
        time(delivery.dueAt, clock)
      }${delivery.reason !== null && markup`: ${reasonText(delivery.reason)}`}`;
    case "sending":
      return markup`An attempt is under way; its lease ends ${time(delivery.leaseUntil, clock)}.`;
    case "held":
      return markup`It was taken for spam and is not delivered, unless somebody releases it.`;
    case "erased":
      return markup`Its content was erased before it was delivered; nothing is sent any more.`;
    case "delivered": {
      const last = delivery.attempts.at(-1);
      return last === undefined
        ? markup`The actions tier has taken it.`
        : markup`The actions tier has taken it ${time(last.at, clock)}, after ${
          counted(delivery.attempts.length, "attempt")
        }.`;
    }
    case "dead":
      return markup`Given up ${time(delivery.diedAt, clock)}${
        delivery.reason !== null && markup`: ${reasonText(delivery.reason)}`
      }. Repair the cause, then replay it: it is tried once more at once.`;
  }
}
