/** `ctl lead …` */

import { type Command, Refused, WrongUsage } from "./command.ts";
import { block, dollars, JsonText, record, safe } from "./terminal.ts";
import { parseTime } from "./values.ts";
import { decode, members } from "#src/lead/json.ts";
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
  removalWord,
  removedJson,
  type StoredEvent,
  summaryJson,
  verdictJson,
} from "#src/store/operator/events.ts";
import { explainStored } from "#src/forms/learning.ts";
import { weighLessons } from "#src/forms/spam/lessons.ts";
import type { Lessons } from "#src/forms/spam/model.ts";
import { readLessons } from "#src/store/jobs/spam_learning.ts";
import { type AuditEntry, listAudit } from "#src/store/operator/audit.ts";
import type { Pool } from "#src/store/pool.ts";
import { listCommand } from "./list.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";

/** The events beside it when a collision was accepted, as names and values for a person to read. */
function acceptedPairs({ acceptedFrom: from, collisions }: StoredEvent): (readonly [string, string])[] {
  const beside = collisions.filter(({ acceptedEventId }) => acceptedEventId !== null);
  return [
    ...(from === null ? [] : [["Accepted from", `collision ${from.collision} of ${from.eventId}`] as const]),
    ...beside.map(({ id, acceptedEventId }) =>
      ["Accepted beside", `${acceptedEventId} (collision ${id})`] as const
    ),
  ];
}

/** The story in order: accepted, each attempt, and what is next. */
function deliveryText(event: StoredEvent, repeats: readonly AuditEntry[]): string {
  const happened = [
    ...event.delivery.attempts.map((attempt) => [spaced(attempt.at), attemptText(attempt)] as const),
    ...repeats.map(({ at, actor }) => [spaced(at), `sent again by an operator (${actor})`] as const),
  ];
  return record([
    [spaced(event.receivedAt), "accepted"],
    ...happened.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0),
    ...next(event),
  ], "  ");
}

const auditMax = 100;

/** When operators have sent an event again, the newest first. */
async function readRepeats(pool: Pool, eventId: string): Promise<AuditEntry[]> {
  const entries = await listAudit(pool, { subject: eventId, limit: auditMax });
  return entries.filter(({ action }) => action === "event.send_again");
}

/** A time to the millisecond, as the story has it. */
function spaced(iso: string): string {
  return iso.slice(0, 23).replace("T", " ");
}

function attemptText(attempt: Attempt): string {
  const { outcome, status, reason, durationMs } = attempt;
  const said = [status === null ? "" : `status ${status}`, reason ?? ""].filter((part) => part !== "");
  const what = outcome === "lost" ? "lost, the process that made it ended" : outcome;
  return [
    `attempt ${attempt.number}: ${what}`,
    ...said,
    ...(durationMs === null ? [] : [`${durationMs} ms`]),
    ...(attempt.spent ? [] : ["does not count"]),
  ].join(", ");
}

function next({ eventId, tenant, delivery }: StoredEvent): [string, string][] {
  const number = (delivery.attempts.at(-1)?.number ?? 0) + 1;
  switch (delivery.state) {
    case "pending": {
      if (delivery.reason === "no_route") {
        return [[
          "waiting",
          `tenant ${tenant} has no route for it (no_route); it goes at once when one is added`,
        ]];
      }
      const why = delivery.reason === null ? "" : ` (${delivery.reason})`;
      return [[spaced(delivery.dueAt), `attempt ${number} is due${why}`]];
    }
    case "sending":
      return [["now", `attempt ${number} is under way, until ${spaced(delivery.leaseUntil)} at most`]];
    case "held":
      return [["held", `not delivered; ctl form release ${eventId} sends it`]];
    case "erased":
      return [["", "not delivered: its content went before"]];
    case "delivered":
      return delivery.attempts.at(-1)?.outcome === "delivered" ? [] : [["", "delivered"]];
    case "dead": {
      const why = delivery.reason === null ? "" : ` (${delivery.reason})`;
      return [[spaced(delivery.diedAt), `dead${why}; ctl dead replay ${eventId} sends it again`]];
    }
  }
}

const list = listCommand({
  words: "lead list",
  isOfTenant: true,
  options: {
    kind: { value: "lead|form", description: "only leads, or only form submissions" },
    since: { value: "TIME", description: "only those received since then" },
  },
  limit: 50,
  summary: "List accepted leads and form submissions, the newest first",
  prepare(input) {
    const kind = parseKind(input.option("kind"));
    const text = input.option("since");
    const since = text === undefined
      ? null
      : parseTime(text, { name: "--since", direction: "past", nowMs: Date.now() });
    return (pool, page) => listLeads(pool, { ...page, kind, since });
  },
  empty: "No leads.",
  columns: {
    "RECEIVED (UTC)": (lead) => lead.receivedAt.slice(0, 23).replace("T", " "),
    "EVENT ID": (lead) => lead.eventId,
    "KIND": (lead) => lead.kind,
    "TENANT": (lead) => lead.tenant,
    "SOURCE": (lead) => lead.source,
    "DELIVERY": (lead) => lead.state,
    "FLAGS": (lead) => lead.flags.join(", "),
  },
  json: (lead) => ({ ...summaryJson(lead), delivery: { state: lead.state } }),
});

function parseKind(text: string | undefined): ListedEvent["kind"] | null {
  if (text === undefined || text === "lead" || text === "form") return text ?? null;
  throw new WrongUsage(`--kind must be lead or form: ${text}`);
}

const show: Command = {
  words: "lead show",
  positionals: ["EVENT_ID…"],
  summary: "Show leads and submissions: normalized, as posted, flags, the story of their delivery",
  notes: `Of a form submission it also shows the verdict, its score and the reasons: a held one has
the state held, and ctl form release sends it. The delivery is pending (due_at tells since or until when, reason why), sending,
delivered or dead; its attempts stand in order. An attempt that was not spent does
not count towards those after which a lead is dead. With several ids, --json
prints an array in their order. When one of them does not exist, nothing is shown and
the message names it.`,
  prepare: (input) => async (pool) => {
    const ids = input.positionals;
    const events = await readEvents(pool, ids);
    const found = events.filter((event) => event !== null);
    if (found.length < ids.length) {
      const missing = ids.filter((_, index) => events[index] === null);
      throw new Refused(
        `There is no event ${[...new Set(missing)].join(", ")}; ctl lead list shows those there are`,
      );
    }
    const effects = await readEffects(pool, ids);
    const lessons = found.some((event) => event.kind === "form")
      ? weighLessons(await readLessons(pool))
      : new Map();
    const repeats = await Promise.all(ids.map((id) => readRepeats(pool, id)));
    const documents = found.map((event, index) => eventJson(event, effects[index] ?? []));
    return {
      json: ids.length === 1 ? documents[0] : documents,
      text: found.map((event, index) =>
        eventText(event, effects[index] ?? [], { lessons, repeats: repeats[index] })
      )
        .join(`\n\n${"-".repeat(72)}\n\n`),
    };
  },
};

const again: Command = {
  words: "lead send-again",
  positionals: ["EVENT_ID"],
  options: {
    effect: { value: "KIND", description: "only this one of its effects, such as crm or email" },
  },
  summary: "Send a delivered lead or submission once more",
  notes: `It is due at once and goes by today's routes, under the same event id, by which a receiver
can recognise the repeat. With --effect the others stay done. When it is refused, it is dead;
ctl dead replay sends it then. What is not delivered yet, dead, held, erased or a sandbox's is
refused.`,
  prepare(input) {
    const id = input.first;
    const effect = input.option("effect") ?? null;
    if (effect !== null && !/^[a-z]{1,20}$/.test(effect)) {
      throw new WrongUsage("--effect must be the kind of a destination, such as crm or email");
    }
    return async (pool) => {
      const sent = await sendAgain(pool, { eventId: id, effect, seen: null, address: null });
      if (sent !== "sent") throw new Refused(`${refusals[sent](id, effect ?? "")}; nothing was changed`);
      return {
        json: { event_id: id, effect },
        text: `Sends ${id} again${
          effect === null ? "" : `, ${effectName(effect)} alone`
        }; ctl lead show says what came of it.`,
      };
    };
  },
};

const refusals: Readonly<Record<Exclude<SentAgain, "sent">, (id: string, effect: string) => string>> = {
  waiting: (id) => `${id} is on its way already, or was not delivered yet`,
  already: (id) => `${id} has been sent again meanwhile`,
  dead: (id) => `${id} is dead; ctl dead replay ${id} sends it`,
  held: (id) => `${id} is held; ctl form release ${id} sends it`,
  erased: (id) => `The content of ${id} is gone`,
  sandbox: (id) => `${id} is a sandbox lead, which is never delivered`,
  no_route: (id) => `No route of its tenant takes ${id}; ctl tenant route makes one`,
  no_effect: (id, effect) => `No ${effect} route of its tenant takes ${id}; ctl tenant route makes one`,
  unknown: (id) => `There is no event ${safe(id)}; ctl lead list shows those there are`,
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

/** The members that hold the content of an event: all that was accepted, or what has removed it and when. */
export function contentJson(event: StoredEvent) {
  return {
    ...removedJson(event),
    [contentName(event.kind)]: spliced(event.lead),
    extra: spliced(event.extra ?? "{}"),
    raw: event.raw,
  };
}

/** Stored JSON text as a part of the output; `null` where an erasure has left nothing. */
export function spliced(text: string | null): JsonText | null {
  return text === null ? null : new JsonText(text);
}

/** The member that holds the content of an event. */
export function contentName(kind: ListedEvent["kind"]): "lead" | "submission" {
  return kind === "lead" ? "lead" : "submission";
}

/** A whole event for a person to read. */
export function eventText(
  event: StoredEvent,
  effects: readonly ShownEffect[],
  { lessons = new Map(), repeats = [] }: {
    readonly lessons?: Lessons;
    readonly repeats?: readonly AuditEntry[] | undefined;
  } = {},
): string {
  const title = event.kind === "lead" ? "Lead" : "Submission";
  const gone = `  ${removalWord(event)}${event.removed === null ? "" : ` ${spaced(event.removed.at)}`}`;
  return [
    record([
      ["Event", event.eventId],
      ["Received", event.receivedAt],
      ["Tenant", event.tenant],
      ["Source", event.source],
      ["Idempotency-Key", event.idempotencyKey ?? "-"],
      ["Flags", event.flags.join(", ") || "-"],
      ...acceptedPairs(event),
      ...foundPairs(event, lessons),
      ["Delivery", event.delivery.state],
    ]),
    `What became of it\n${deliveryText(event, repeats)}`,
    ...(effects.length === 0 ? [] : [`Effects\n${effectsText(effects)}`]),
    `${title}\n${event.lead === null ? gone : record(contentPairs(event.kind, event.lead), "  ")}`,
    ...(event.extra === null ? [] : [`Extra\n${block(event.extra)}`]),
    `Body as posted\n${event.raw === null ? gone : block(event.raw)}`,
  ].join("\n\n");
}

/** The effects, a line each, and below it what the other side said. */
function effectsText(effects: readonly ShownEffect[]): string {
  return record(
    effects.map(({ effect, target, state, busyUntil, status, answer, reason, attempts, settledAt }) => [
      `${effectName(effect)}${target === null ? "" : ` ${target}`}`,
      [
        `${state}${status === null ? "" : ` ${status}`}${
          target === null && state !== "waiting" ? " (its route has changed since)" : ""
        }`,
        ...(reason === null ? [] : [reason]),
        ...(state === "busy" && busyUntil !== null ? [`until ${spaced(busyUntil)} at most`] : []),
        ...(settledAt === null ? [] : [spaced(settledAt)]),
        ...(attempts > 1 ? [`tried ${attempts} times`] : []),
      ].join(", ") + (answer === null || answer === "" ? "" : `\n${answer}`),
    ]),
    "  ",
  );
}

function foundPairs({ found, lead, receivedAt }: StoredEvent, lessons: Lessons): [string, string][] {
  if (found === null) return [];
  const shares = lead === null || found.score === 0 ? [] : explainStored({ lead, receivedAt }, lessons);
  const released = found.releasedAt === null ? "" : `, released ${found.releasedAt}`;
  return [
    ["Form", found.formKey],
    ["Verdict", `${found.verdict}${released}`],
    ["Score", String(found.score)],
    ["Reasons", found.reasons.join(", ") || "-"],
    ...shares.map((share, index): [string, string] => [
      index === 0 ? "Weighed most" : "",
      `${String(share.percent).padStart(2)} % ${"words" in share ? `"${share.words}"` : share.reason}`,
    ]),
  ];
}

/**
 * The members of a lead or a submission for a person to read, in their order, each number with the digits that were
 * sent; a lead's cost in dollars.
 */
export function contentPairs(kind: ListedEvent["kind"], json: string): [string, string][] {
  return members(json).map(({ name, valueText }) =>
    kind === "lead" && name === "cost_cents"
      ? ["cost", dollars(Number(valueText))]
      : [name, valueText.startsWith('"') ? decode(valueText) : valueText]
  );
}

/** The commands of this noun. */
export const leadCommands: readonly Command[] = [list, show, again];
