/** Reports what happened to an event, for `ctl` and the console. */

import { pausedReason } from "../delivery/effects.ts";
import type { BoundedCount } from "./admin_pool.ts";
import type { AuditEntry } from "./audit.ts";
import { effectName, type ShownEffect } from "./event_effects.ts";
import { type Attempt, collisionsMax, endedAt, shownStatus, type StoredEvent } from "./events.ts";
import { type DuplicatePost, duplicatesMax, duplicateText } from "./post_log.ts";
import { collisionId, eventId, quoted, reasonSentence, type Sentence, sentence, timeAt } from "./sentence.ts";

export interface TimelineEntry {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly tone: "good" | "warn" | "bad" | null;
  readonly title: Sentence;
  /** Empty if the title says it all. */
  readonly text: Sentence;
}

export interface Timeline {
  /** Earliest first. */
  readonly entries: readonly TimelineEntry[];
  /** The number of older entries, after the first one, that are left out; `isMore` if there are further ones. */
  readonly omitted: BoundedCount;
}

/** The number of audit rows of an event that are read. */
export const auditEntriesMax = 100;
const entriesMax = 50;
// Of collisions and of duplicates: a partner's retries must not push out what happened to the lead.
const postEntriesMax = 10;

/** Returns what happened to an event: its first entry and the newest ones, earliest first. */
export function timelineOf(
  event: StoredEvent,
  { audit, duplicates, effects }: {
    readonly audit: readonly AuditEntry[];
    readonly duplicates: readonly DuplicatePost[];
    readonly effects: readonly ShownEffect[];
  },
): Timeline {
  const { delivery: { attempts } } = event;
  const others = [
    ...attempts.filter(({ outcome }) => outcome !== "marked").map(attemptEntry),
    ...effects.flatMap(effectEntries),
    ...audit.flatMap((entry) => auditEntries(entry, event)),
    ...diedEntries(event),
    ...removalEntries(event, audit),
    ...sandboxEntries(event),
  ];
  const collided = earliestFirst(event.collisions.map(collisionEntry));
  const repeated = duplicates.map((post) => duplicateEntry(post, event));
  const shown = [
    ...collided.slice(-postEntriesMax),
    ...repeated.slice(-postEntriesMax),
    ...earliestFirst(others).slice(-entriesMax),
  ];
  const unreadAttempts = (attempts[0]?.number ?? 1) - 1;
  return {
    entries: [receivedEntry(event), ...earliestFirst(shown)],
    omitted: {
      count: unreadAttempts + collided.length + repeated.length + others.length - shown.length,
      isMore: event.collisions.length === collisionsMax || duplicates.length === duplicatesMax ||
        audit.length === auditEntriesMax,
    },
  };
}

// Stable: entries with the same time stay in order.
const earliestFirst = (entries: readonly TimelineEntry[]) =>
  entries.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));

function receivedEntry(event: StoredEvent): TimelineEntry {
  const { acceptedFrom: from, submission, flags } = event;
  const source = ["From ", quoted(event.source), ` with key ${event.keyId}; `];
  const flagged = flags.length > 0 && ` ${flags.length} ${flags.length === 1 ? "flag" : "flags"}.`;
  const entry = { at: event.receivedAt, tone: "good" } as const;
  if (from !== null) {
    const text = sentence(
      ...source,
      "it was previously set aside as ",
      collisionId(from.collision),
      ", under the Idempotency-Key of ",
      eventId(from.eventId),
      ".",
      flagged,
    );
    return { ...entry, title: ["Accepted by an operator"], text };
  }
  const stored = submission === null || submission.verdict === "clean"
    ? "event and delivery record were stored in one transaction."
    : `it was held as ${submission.verdict}, without a delivery record.`;
  const text = sentence(...source, `${stored} The caller received accepted after that.`, flagged);
  return { ...entry, title: ["Received and committed"], text };
}

function collisionEntry(
  { id, firstAt, count, acceptedEventId }: StoredEvent["collisions"][number],
): TimelineEntry {
  return {
    at: firstAt,
    tone: "warn",
    title: ["Another lead was posted with the same Idempotency-Key"],
    text: sentence(
      count > 1 ? `It was set aside, posted ${count} times: ` : "It was set aside: ",
      collisionId(id),
      acceptedEventId !== null && ["; it is now a separate event, ", eventId(acceptedEventId)],
    ),
  };
}

function duplicateEntry(post: DuplicatePost, event: StoredEvent): TimelineEntry {
  return {
    at: post.at,
    tone: null,
    title: ["Duplicate"],
    text: [quoted(duplicateText(post, event)), "; the caller received this event's id"],
  };
}

const outcomeTexts: Readonly<
  Record<Exclude<Attempt["outcome"], "marked">, { tone: TimelineEntry["tone"]; text: string }>
> = {
  delivered: { tone: "good", text: "the actions tier performed every effect" },
  refused: { tone: "bad", text: "the actions tier refused it" },
  unreachable: { tone: "warn", text: "no response from the actions tier" },
  lost: { tone: "warn", text: "the delivering process died, and its lease expired" },
};

function attemptEntry(attempt: Attempt): TimelineEntry {
  const { number, outcome, reason, durationMs, spent } = attempt;
  const { tone, text } = outcomeTexts[outcome as keyof typeof outcomeTexts];
  const status = shownStatus(attempt);
  return {
    at: endedAt(attempt),
    tone,
    title: [`Attempt ${number}: ${outcome}`],
    text: sentence(
      text,
      status !== null && `, status ${status}`,
      reason !== null && [", ", ...reasonSentence(reason)],
      durationMs !== null && `, in ${durationMs} ms`,
      !spent && outcome !== "delivered" && "; not counted towards the maximum",
    ),
  };
}

/** Returns an effect's name, with its recipient while the route has not changed since. */
export function effectTitle({ effect, target }: ShownEffect): Sentence {
  return sentence(effectName(effect), target !== null && [" to ", quoted(target)]);
}

/** Returns what is known of an effect besides its name, for after the word for its state; starts with a space. */
export function effectSentence(effect: ShownEffect): Sentence {
  const { state, status, reason, attempts, settledAt, busyUntil, target, markedBy } = effect;
  const isMarked = state === "marked";
  const marked = markedBy === null || markedBy === ""
    ? ["as done, because the log shows that it was done before the database was restored"]
    : ["as done by ", quoted(markedBy), ", nothing was sent"];
  const time = state === "busy" && busyUntil !== null
    ? ["until ", timeAt(busyUntil), " at the latest"]
    : settledAt !== null && [timeAt(settledAt)];
  const parts = [
    isMarked ? marked : status !== null && [String(status)],
    time,
    target === null && state !== "waiting" && ["the route has since changed"],
    reason !== null && reasonSentence(reason),
    isMarked && status !== null && [`the last response was ${status}`],
    attempts > 1 && [`tried ${attempts} times`],
  ].filter((part) => part !== false);
  return parts.flatMap((part, index) => [index === 0 || part === time && !isMarked ? " " : ", ", ...part]);
}

const effectTones: Readonly<Record<ShownEffect["state"], TimelineEntry["tone"]>> = {
  done: "good",
  marked: null,
  failed: "bad",
  refused: "bad",
  waiting: "warn",
  busy: "warn",
};

/** Returns the entry for an effect's last response; the operator's mark has an entry from the audit. */
function effectEntries(effect: ShownEffect): TimelineEntry[] {
  const { state, settledAt, status, reason, markedBy } = effect;
  if (settledAt === null || state === "marked" && markedBy !== "") return [];
  return [{
    at: settledAt,
    tone: effectTones[state],
    title: sentence(...effectTitle(effect), `: ${state === "marked" ? "done" : state}`),
    text: state === "marked" ? ["according to the log, before the database was restored"] : sentence(
      status !== null && `response ${status}`,
      status !== null && reason !== null && ", ",
      reason !== null && reasonSentence(reason),
    ),
  }];
}

/** Returns who did it: a name, or what stands for one. */
function operatorOf({ actor, claimed }: AuditEntry): Sentence {
  if (actor.startsWith("digest ")) return ["a link in a digest"];
  return [quoted(claimed ?? actor)];
}

// The words before and after the operator's name; an action that is not listed is shown by its name.
const actionTexts: Readonly<Record<string, readonly [before: string, after?: string]>> = {
  "event.hold": ["Held after a restore by ", ", because it could repeat"],
  "event.send_again": ["Sent again by "],
  "collision.accept": ["Collision accepted as a separate lead by "],
  "collision.dismiss": ["Collision dismissed by "],
  "dead.replay": ["Replayed by "],
  "dead.done": ["Marked as done by ", ", nothing was sent"],
  "lead.return": ["Returned by "],
  "lead.undo_return": ["Return undone by "],
  "submission.release": ["Released by "],
  "submission.dismiss": ["Dismissed by "],
  "submission.spam": ["Reported as spam by "],
  "submission.not_spam": ["Spam report withdrawn by "],
};

// An erasure has an entry of its own; the start of a run says nothing about the event.
const erasureActions: readonly string[] = ["event.erase", "person.erase", "person.erase_begin"];

function auditEntries(entry: AuditEntry, { removed }: StoredEvent): TimelineEntry[] {
  const { action, at, actor, detail } = entry;
  if (erasureActions.includes(action) && (removed?.by === "erasure" || action === "person.erase_begin")) {
    return [];
  }
  const [before, after = ""] = actionTexts[action] ?? [`${action.replace(/[._]/g, " ")} by `];
  const members: Readonly<Record<string, unknown>> = detail === null ? {} : JSON.parse(detail) ?? {};
  const pairs = Object.entries(members).map(([name, value]) =>
    name === "credit_cents" ? creditText(Number(value)) : `${name} ${JSON.stringify(value)}`
  );
  return [{
    at,
    tone: null,
    title: sentence(before, operatorOf(entry), after),
    text: sentence(
      "With ",
      quoted(actor),
      pairs.length > 0 && [": ", quoted(pairs.join(", ").slice(0, 200))],
    ),
  }];
}

function creditText(cents: number): string {
  return `$${(Math.abs(cents) / 100).toFixed(2)} ${cents < 0 ? "taken back" : "credited"}`;
}

function diedEntries({ delivery }: StoredEvent): TimelineEntry[] {
  if (delivery.state !== "dead") return [];
  return [{
    at: delivery.diedAt,
    tone: "bad",
    title: ["Delivery failed"],
    text: sentence(
      "It is a dead letter",
      delivery.reason !== null && [": ", ...reasonSentence(delivery.reason)],
      ". Its content remains stored.",
    ),
  }];
}

function removalEntries({ removed }: StoredEvent, audit: readonly AuditEntry[]): TimelineEntry[] {
  if (removed === null) return [];
  const erasure = audit.find(({ action }) => erasureActions.includes(action));
  return [{
    at: removed.at,
    tone: null,
    title: removed.by === "retention"
      ? ["Removed at the end of its retention"]
      : sentence("Erased by ", erasure === undefined ? "an operator" : operatorOf(erasure)),
    text: ["Its content was removed; the id, the time and the digest of the Idempotency-Key remain."],
  }];
}

/** Explains why a sandbox tenant's delivered event has no effects. */
function sandboxEntries({ delivery, sandbox, receivedAt }: StoredEvent): TimelineEntry[] {
  if (delivery.state !== "delivered" || !sandbox) return [];
  const at = delivery.attempts.at(-1)?.at ?? receivedAt;
  return [{ at, tone: "good", title: ["No effect: this is a sandbox lead"], text: [] }];
}

/** Says what happens next, or what to do. `nowMs` is the wall-clock time. */
export function nextStep(
  { eventId: id, delivery, tenant, sandbox, hasRoute }: StoredEvent,
  nowMs: number,
): Sentence {
  const because = (reason: string | null) => reason !== null && [": ", ...reasonSentence(reason)];
  switch (delivery.state) {
    case "pending":
      if (!sandbox && !hasRoute) {
        return [
          `It is waiting: the tenant has no route (no_route). Add one with ctl tenant route ${tenant} …; it is then sent immediately.`,
        ];
      }
      if (delivery.reason === pausedReason) return sentence("It is waiting", because(delivery.reason), ".");
      return sentence(
        `${Date.parse(delivery.dueAt) > nowMs ? "Next attempt" : "Due since"} `,
        timeAt(delivery.dueAt),
        because(delivery.reason),
      );
    case "sending":
      return ["An attempt is in progress; its lease ends ", timeAt(delivery.leaseUntil), "."];
    case "held":
      return [`It is held as spam and is delivered only if you release it (ctl form release ${id}).`];
    case "erased":
      return ["Its content was erased before delivery. Nothing is sent."];
    case "marked":
      return ["An operator marked it as done. Nothing was sent then."];
    case "delivered": {
      const last = delivery.attempts.findLast(({ outcome }) => outcome === "delivered");
      if (last === undefined) return ["Delivered to the actions tier."];
      const { number } = last;
      return [
        "Delivered to the actions tier ",
        timeAt(endedAt(last)),
        `, after ${number} ${number === 1 ? "attempt" : "attempts"}.`,
      ];
    }
    case "dead":
      return sentence(
        "Delivery failed ",
        timeAt(delivery.diedAt),
        because(delivery.reason),
        `. Fix the cause, then replay it (ctl dead replay ${id}): it is sent once more, immediately.`,
      );
  }
}
