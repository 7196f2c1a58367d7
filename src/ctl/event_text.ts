/** Formats a stored event with its timeline and its effects, as text and as JSON. */

import { returnPairs } from "./lead_return.ts";
import { block, dollars, JsonText, record } from "./terminal.ts";
import { explainStored } from "#src/forms/learning.ts";
import { decodeString, members } from "#src/lead/json.ts";
import { readLessons, type Weights } from "#src/store/jobs/spam_learning.ts";
import { type AuditEntry, listAudit } from "#src/store/operator/audit.ts";
import { readEffects, type ShownEffect } from "#src/store/operator/event_effects.ts";
import {
  acceptedJson,
  type ListedEvent,
  removalKind,
  removedJson,
  type StoredEvent,
  summaryJson,
  verdictJson,
} from "#src/store/operator/events.ts";
import { type DuplicatePost, readDuplicates } from "#src/store/operator/post_log.ts";
import type { Sentence } from "#src/store/operator/sentence.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";
import {
  auditEntriesMax,
  effectSentence,
  effectTitle,
  nextStep,
  timelineOf,
} from "#src/store/operator/timeline.ts";
import type { Pool } from "#src/store/pool.ts";

/** An event with what is known of it. */
export interface EventRecord {
  readonly event: StoredEvent;
  readonly effects: readonly ShownEffect[];
  readonly duplicates: readonly DuplicatePost[];
  /** What operators did, newest first. */
  readonly audit: readonly AuditEntry[];
  /** What the spam score has learned for the customer; empty for a lead. */
  readonly lessons: Weights;
}

/** Reads what is known of events, in their order. */
export async function readRecords(pool: Pool, events: readonly StoredEvent[]): Promise<EventRecord[]> {
  const effects = await readEffects(pool, events.map(({ eventId }) => eventId));
  return await Promise.all(events.map(async (event, index) => {
    const audit = await listAudit(pool, { subject: event.eventId, limit: auditEntriesMax });
    const duplicates = await readDuplicates(pool, event.eventId);
    const lessons = event.kind === "form" ? await readLessons(pool, event.tenant) : new Map();
    return { event, effects: effects[index] ?? [], duplicates, audit, lessons };
  }));
}

export function eventJson({ event, effects, duplicates, audit }: EventRecord) {
  return {
    ...summaryJson(event),
    ...verdictJson(event),
    ...acceptedJson(event),
    ...contentJson(event),
    delivery: snakeCased(event.delivery),
    effects: snakeCased(effects),
    duplicates: snakeCased(duplicates),
    operations: audit.map(({ at, actor, claimed, action, detail }) => ({
      at,
      actor,
      claimed,
      action,
      detail: verbatimJson(detail),
    })),
  };
}

/** Returns the JSON members for an event's content and, if it was removed, for how and when. */
export function contentJson(event: StoredEvent) {
  return {
    ...removedJson(event),
    [contentName(event.kind)]: verbatimJson(event.lead),
    extra: verbatimJson(event.extra ?? "{}"),
    raw: event.raw,
  };
}

/** Returns stored JSON text for verbatim output; `null` if the text was removed. */
export function verbatimJson(text: string | null): JsonText | null {
  return text === null ? null : new JsonText(text);
}

/** Returns the name of the member that contains an event's content. */
export function contentName(kind: ListedEvent["kind"]): "lead" | "submission" {
  return kind === "lead" ? "lead" : "submission";
}

/** Formats a time to the millisecond. */
export function formatTime(iso: string): string {
  return iso.slice(0, 23).replace("T", " ");
}

function plainText(sentence: Sentence): string {
  return sentence.map((piece) => {
    if (typeof piece === "string") return piece;
    const { kind, value } = piece;
    return kind === "time" ? formatTime(value) : kind === "collision" ? `collision ${value}` : value;
  }).join("");
}

export function eventText(known: EventRecord): string {
  const { event, effects, lessons } = known;
  const title = event.kind === "lead" ? "Lead" : "Submission";
  const removed = `  ${removalKind(event)}${
    event.removed === null ? "" : ` ${formatTime(event.removed.at)}`
  }`;
  return [
    record([
      ["Event", event.eventId],
      ["Received", event.receivedAt],
      ["Tenant", event.tenant],
      ["Source", event.source],
      ["Idempotency-Key", event.idempotencyKey ?? "-"],
      ["X-Request-Id", event.requestId ?? "-"],
      ["Flags", event.flags.join(", ") || "-"],
      ...returnPairs(event),
      ...relatedEventPairs(event),
      ...verdictPairs(event, lessons),
      ["Delivery", event.delivery.state],
      ["Now", plainText(nextStep(event, Date.now()))],
    ]),
    `Timeline\n${timelineText(known)}`,
    ...(effects.length === 0 ? [] : [`Effects\n${effectsText(effects)}`]),
    `${title}\n${event.lead === null ? removed : record(contentPairs(event.kind, event.lead), "  ")}`,
    ...(event.extra === null ? [] : [`Extra\n${block(event.extra)}`]),
    `Body as posted\n${event.raw === null ? removed : block(event.raw)}`,
  ].join("\n\n");
}

function timelineText({ event, ...known }: EventRecord): string {
  const { entries, omitted: { count, isMore } } = timelineOf(event, known);
  const lines = entries.map(({ at, title, text }): [string, string] => [
    formatTime(at),
    [title, text].filter(({ length }) => length > 0).map(plainText).join(": "),
  ]);
  const left = `${count}${isMore ? "+" : ""} older ${count === 1 ? "entry" : "entries"} left out`;
  return record(count === 0 ? lines : lines.toSpliced(1, 0, ["…", left]), "  ");
}

/** Renders the effects, one per line, each followed by the recipient's response. */
function effectsText(effects: readonly ShownEffect[]): string {
  return record(
    effects.map((effect) => {
      const headers = Object.entries(effect.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
      return [
        plainText(effectTitle(effect)),
        [`${effect.state}${plainText(effectSentence(effect))}`, ...headers, effect.answer ?? ""]
          .filter((line) => line !== "").join("\n"),
      ];
    }),
    "  ",
  );
}

/** Returns the events to which accepted collisions link an event, as names and values. */
function relatedEventPairs({ acceptedFrom: from, collisions }: StoredEvent): (readonly [string, string])[] {
  const accepted = collisions.filter(({ acceptedEventId }) => acceptedEventId !== null);
  return [
    ...(from === null ? [] : [["Accepted from", `collision ${from.collision} of ${from.eventId}`] as const]),
    ...accepted.map(({ id, acceptedEventId }) =>
      ["Collision", `${id}, accepted as ${acceptedEventId}`] as const
    ),
  ];
}

function verdictPairs({ submission, lead, receivedAt }: StoredEvent, lessons: Weights): [string, string][] {
  if (submission === null) return [];
  const shares = lead === null || submission.score === 0 ? [] : explainStored({ lead, receivedAt }, lessons);
  const released = submission.releasedAt === null ? "" : `, released ${submission.releasedAt}`;
  return [
    ["Form", submission.formKey],
    ["Verdict", `${submission.verdict}${released}`],
    ["Score", String(submission.score)],
    ["Reasons", submission.reasons.join(", ") || "-"],
    ...shares.map((share, index): [string, string] => [
      index === 0 ? "Main evidence" : "",
      `${String(share.percent).padStart(2)}% ${"words" in share ? `"${share.words}"` : share.reason}`,
    ]),
  ];
}

/**
 * Returns the members of a lead or submission as names and values, in order. Numbers keep the digits that were sent; a
 * lead's cost is in dollars.
 */
export function contentPairs(kind: ListedEvent["kind"], json: string): [string, string][] {
  return members(json).map(({ name, valueText }) =>
    kind === "lead" && name === "cost_cents"
      ? ["cost", dollars(Number(valueText))]
      : [name, valueText.startsWith('"') ? decodeString(valueText) : valueText]
  );
}
