/** Defines the `ctl lead` commands. */

import { type Command, Refused, UsageError } from "./command.ts";
import { block, dollars, JsonText, record, safe } from "./terminal.ts";
import { parseTime } from "./values.ts";
import { decodeString, members } from "#src/lead/json.ts";
import {
  effectName,
  readEffects,
  sendAgain,
  type SentAgain,
  type ShownEffect,
} from "#src/store/operator/event_effects.ts";
import {
  acceptedJson,
  type Attempt,
  type ListedEvent,
  listLeads,
  readEvents,
  removalKind,
  removedJson,
  shownStatus,
  type StoredEvent,
  summaryJson,
  verdictJson,
} from "#src/store/operator/events.ts";
import { explainStored } from "#src/forms/learning.ts";
import { lessonWeights } from "#src/forms/spam/lessons.ts";
import type { Lessons } from "#src/forms/spam/model.ts";
import { readLessons } from "#src/store/jobs/spam_learning.ts";
import { pausedReason } from "#src/store/delivery/effects.ts";
import { pausedText } from "#src/store/operator/pauses.ts";
import { crmWaitTexts } from "#src/store/operator/route_states.ts";
import { type AuditEntry, listAudit } from "#src/store/operator/audit.ts";
import { type DuplicatePost, duplicateText, readDuplicates } from "#src/store/operator/post_log.ts";
import type { Pool } from "#src/store/pool.ts";
import { returnPairs } from "./lead_return.ts";
import { listCommand } from "./list.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";

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

/** Formats the delivery history in order: acceptance, attempts, duplicates and resends, and the next step. */
function deliveryText(
  event: StoredEvent,
  resends: readonly AuditEntry[],
  duplicates: readonly DuplicatePost[],
): string {
  const entries = [
    ...event.delivery.attempts.map((attempt) => [formatTime(attempt.at), attemptText(attempt)] as const),
    ...duplicates.map((post) => [formatTime(post.at), `duplicate, ${duplicateText(post, event)}`] as const),
    ...resends.map(({ at, actor }) => [formatTime(at), `sent again by an operator (${actor})`] as const),
  ];
  return record([
    [formatTime(event.receivedAt), "accepted"],
    ...entries.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0),
    ...nextStep(event),
  ], "  ");
}

// The maximum number of audit entries that are searched for resends.
const auditEntriesMax = 100;

async function readResends(pool: Pool, eventId: string): Promise<AuditEntry[]> {
  const entries = await listAudit(pool, { subject: eventId, limit: auditEntriesMax });
  return entries.filter(({ action }) => action === "event.send_again");
}

/** Formats a time to the millisecond. */
function formatTime(iso: string): string {
  return iso.slice(0, 23).replace("T", " ");
}

function attemptText(attempt: Attempt): string {
  const { outcome, reason, durationMs } = attempt;
  const status = shownStatus(attempt);
  const details = [status === null ? "" : `status ${status}`, reason ?? ""].filter((part) => part !== "");
  const what = outcome === "lost" ? "lost, because its process ended" : outcome;
  return [
    `attempt ${attempt.number}: ${what}`,
    ...details,
    ...(durationMs === null ? [] : [`${durationMs} ms`]),
    ...(attempt.spent ? [] : ["not counted towards the maximum"]),
  ].join(", ");
}

function nextStep({ eventId, tenant, delivery }: StoredEvent): [string, string][] {
  const number = (delivery.attempts.at(-1)?.number ?? 0) + 1;
  switch (delivery.state) {
    case "pending": {
      if (delivery.reason === "no_route") {
        return [[
          "waiting",
          `tenant ${tenant} has no route for it (no_route); it is sent as soon as you add one`,
        ]];
      }
      if (delivery.reason === pausedReason) {
        return [["waiting", `${pausedText} (paused); it is sent as soon as you resume`]];
      }
      const meaning = crmWaitTexts[delivery.reason ?? ""];
      const why = [delivery.reason, meaning].filter((part) => part != null).join(": ");
      return [[formatTime(delivery.dueAt), `attempt ${number} is due${why === "" ? "" : ` (${why})`}`]];
    }
    case "sending":
      return [[
        "now",
        `attempt ${number} is in progress, until ${formatTime(delivery.leaseUntil)} at the latest`,
      ]];
    case "held":
      return [["held", `not delivered; ctl form release ${eventId} delivers it`]];
    case "erased":
      return [["", "not delivered: its content was removed first"]];
    case "delivered":
      return delivery.attempts.at(-1)?.outcome === "delivered" ? [] : [["", "delivered"]];
    case "dead": {
      const why = delivery.reason === null ? "" : ` (${delivery.reason})`;
      return [[formatTime(delivery.diedAt), `dead${why}; ctl dead replay ${eventId} sends it again`]];
    }
  }
}

const list = listCommand({
  words: "lead list",
  isTenantScoped: true,
  options: {
    since: { value: "TIME", description: "only events received since then" },
  },
  limit: 50,
  summary: "List accepted leads and form submissions, newest first",
  prepare(input) {
    const text = input.option("since");
    const since = text === undefined
      ? null
      : parseTime(text, { name: "--since", direction: "past", nowMs: Date.now() });
    return (pool, page) => listLeads(pool, { ...page, since });
  },
  empty: "No leads.",
  columns: {
    "RECEIVED (UTC)": (lead) => formatTime(lead.receivedAt),
    "EVENT ID": (lead) => lead.eventId,
    "KIND": (lead) => lead.kind,
    "TENANT": (lead) => lead.tenant,
    "SOURCE": (lead) => lead.source,
    "DELIVERY": (lead) => lead.state,
    "RETURNED": (lead) => lead.returned?.reason ?? "",
    "FLAGS": (lead) => lead.flags.join(", "),
  },
  json: (lead) => ({ ...summaryJson(lead), delivery: { state: lead.state } }),
});

const show: Command = {
  words: "lead show",
  positionals: ["EVENT_ID…"],
  summary: "Show leads and submissions: content, body as posted, flags, delivery history",
  notes: `For a form submission it also shows the verdict, the score and the reasons. A held submission has
the state held, and ctl form release delivers it. The delivery is pending (due_at is when it is due,
reason is why it waits), sending, delivered or dead, with its attempts in order. An attempt that was
not spent does not count towards the maximum, after which an event is dead. With several ids, --json
prints an array in the order given. If any of them does not exist, nothing is shown.`,
  prepare: (input) => async (pool) => {
    const ids = input.positionals;
    const events = await readEvents(pool, ids);
    const stored = events.filter((event) => event !== null);
    if (stored.length < ids.length) {
      const missing = ids.filter((_, index) => events[index] === null);
      throw new Refused(
        `There is no event ${[...new Set(missing)].join(", ")}; see ctl lead list`,
      );
    }
    const effects = await readEffects(pool, ids);
    const lessons = stored.some((event) => event.kind === "form")
      ? lessonWeights(await readLessons(pool))
      : new Map();
    const resends = await Promise.all(ids.map((id) => readResends(pool, id)));
    const duplicates = await Promise.all(ids.map((id) => readDuplicates(pool, id)));
    const documents = stored.map((event, index) => ({
      ...eventJson(event, effects[index] ?? []),
      duplicates: snakeCased(duplicates[index]),
    }));
    return {
      json: ids.length === 1 ? documents[0] : documents,
      text: stored.map((event, index) =>
        eventText(event, effects[index] ?? [], {
          lessons,
          resends: resends[index],
          duplicates: duplicates[index],
        })
      ).join(`\n\n${"-".repeat(72)}\n\n`),
    };
  },
};

const resend: Command = {
  words: "lead send-again",
  positionals: ["EVENT_ID"],
  options: {
    effect: { value: "KIND", description: "only this effect, such as crm or email" },
  },
  summary: "Send a delivered lead or submission again",
  notes: `It is sent immediately over the current routes, under the same event id, so receivers can recognize
the repeat. With --effect, the other effects are not repeated. If the actions tier refuses it, it
becomes a dead letter at once. Events that are waiting, being sent, dead, held or erased cannot be
sent again, nor can those of a sandbox tenant.`,
  prepare(input) {
    const id = input.first;
    const effect = input.option("effect") ?? null;
    if (effect !== null && !/^[a-z]{1,20}$/.test(effect)) {
      throw new UsageError("--effect must be a kind of destination, such as crm or email");
    }
    return async (pool) => {
      const sent = await sendAgain(pool, { eventId: id, effect, seen: null, address: null });
      if (sent !== "sent") throw new Refused(`${refusals[sent](id, effect ?? "")}; nothing was changed`);
      return {
        json: { event_id: id, effect },
        text: `Sending ${id} again${
          effect === null ? "" : ` to ${effectName(effect)} only`
        }; ctl lead show shows the result.`,
      };
    };
  },
};

const refusals: Readonly<Record<Exclude<SentAgain, "sent">, (id: string, effect: string) => string>> = {
  waiting: (id) => `${id} is already being sent, or has not been delivered yet`,
  already: (id) => `${id} has been sent again in the meantime`,
  dead: (id) => `${id} is dead; ctl dead replay ${id} sends it`,
  held: (id) => `${id} is held; ctl form release ${id} delivers it`,
  erased: (id) => `The content of ${id} has been removed`,
  sandbox: (id) => `${id} is a sandbox lead, which is never delivered`,
  no_route: (id) => `The tenant has no route for ${id}; ctl tenant route adds one`,
  no_effect: (id, effect) => `The tenant has no ${effect} route for ${id}; ctl tenant route adds one`,
  unknown: (id) => `There is no event ${safe(id)}; see ctl lead list`,
};

function eventJson(event: StoredEvent, effects: readonly ShownEffect[]) {
  return {
    ...summaryJson(event),
    ...verdictJson(event),
    ...acceptedJson(event),
    ...contentJson(event),
    delivery: snakeCased(event.delivery),
    effects: snakeCased(effects),
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

export function eventText(
  event: StoredEvent,
  effects: readonly ShownEffect[],
  { lessons = new Map(), resends = [], duplicates = [] }: {
    readonly lessons?: Lessons;
    readonly resends?: readonly AuditEntry[] | undefined;
    readonly duplicates?: readonly DuplicatePost[] | undefined;
  } = {},
): string {
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
      ["Flags", event.flags.join(", ") || "-"],
      ...returnPairs(event),
      ...relatedEventPairs(event),
      ...verdictPairs(event, lessons),
      ["Delivery", event.delivery.state],
    ]),
    `Delivery history\n${deliveryText(event, resends, duplicates)}`,
    ...(effects.length === 0 ? [] : [`Effects\n${effectsText(effects)}`]),
    `${title}\n${event.lead === null ? removed : record(contentPairs(event.kind, event.lead), "  ")}`,
    ...(event.extra === null ? [] : [`Extra\n${block(event.extra)}`]),
    `Body as posted\n${event.raw === null ? removed : block(event.raw)}`,
  ].join("\n\n");
}

/** Renders the effects, one per line, each followed by the recipient's response. */
function effectsText(effects: readonly ShownEffect[]): string {
  return record(
    effects.map(({ effect, target, state, busyUntil, status, answer, reason, attempts, settledAt }) => [
      `${effectName(effect)}${target === null ? "" : ` ${target}`}`,
      [
        `${state}${status === null ? "" : ` ${status}`}${
          target === null && state !== "waiting" ? " (the route has since changed)" : ""
        }`,
        ...(reason === null ? [] : [reason]),
        ...(state === "busy" && busyUntil !== null ? [`until ${formatTime(busyUntil)} at the latest`] : []),
        ...(settledAt === null ? [] : [formatTime(settledAt)]),
        ...(attempts > 1 ? [`tried ${attempts} times`] : []),
      ].join(", ") + (answer === null || answer === "" ? "" : `\n${answer}`),
    ]),
    "  ",
  );
}

function verdictPairs({ submission, lead, receivedAt }: StoredEvent, lessons: Lessons): [string, string][] {
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

export const leadCommands: readonly Command[] = [list, show, resend];
