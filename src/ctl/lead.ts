/** Defines the `ctl lead` commands. */

import { type Command, type CommandContext, Refused, UsageError } from "./command.ts";
import { eventJson, eventText, formatTime, readRecords } from "./event_text.ts";
import { listCommand } from "./list.ts";
import { dryRun } from "./route_test_command.ts";
import { safe } from "./terminal.ts";
import { parseEventId, parseEventIds, parseTime } from "./values.ts";
import { effectName, sendAgain, type SentAgain } from "#src/store/operator/event_effects.ts";
import { listLeads, readEvents, type StoredEvent, summaryJson } from "#src/store/operator/events.ts";
import type { Pool } from "#src/store/pool.ts";

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

const show = (context: CommandContext): Command => ({
  words: "lead show",
  positionals: ["EVENT_ID…"],
  options: {
    sent: { description: "also show what is sent, rendered again by the actions process; nothing is sent" },
  },
  summary: "Show leads and submissions: content, body as posted, flags, timeline, effects",
  notes:
    `The timeline has the attempts, what operators did and under which names, collisions and the effects' last
responses. With --sent, secrets are ***, and the routes are those of now.

For a form submission it also shows the verdict, the score and the reasons. A held submission has
the state held, and ctl form release delivers it. The delivery is pending (due_at is when it is due,
reason is why it waits), sending, delivered, marked (an operator marked it as done; nothing was sent) or
dead, with its last 50 attempts in order. An attempt that was not spent does not count towards the
maximum, after which an event is dead. With several ids, --json prints an array in the order given. If
any of them does not exist, nothing is shown.`,
  prepare(input) {
    const ids = parseEventIds(input.positionals);
    return async (pool) => {
      const events = await readEvents(pool, ids);
      const stored = events.filter((event) => event !== null);
      if (stored.length < ids.length) {
        const missing = ids.filter((_, index) => events[index] === null);
        throw new Refused(
          `There is no event ${missing.join(", ")}; see ctl lead list`,
        );
      }
      const shown = await Promise.all((await readRecords(pool, stored)).map(async (record) => {
        const sent = input.has("sent") ? await renderSent(pool, context, record.event) : null;
        return {
          json: { ...eventJson(record), ...(sent === null ? {} : { sent: sent.json }) },
          text: [eventText(record), ...(sent === null ? [] : [`What is sent\n${sent.text}`])].join("\n\n"),
        };
      }));
      return {
        json: ids.length === 1 ? shown[0]?.json : shown.map(({ json }) => json),
        text: shown.map(({ text }) => text).join(`\n\n${"-".repeat(72)}\n\n`),
      };
    };
  },
});

/** Returns what an event's recipients are sent; if that cannot be rendered, why not. */
async function renderSent(
  pool: Pool,
  context: CommandContext,
  { eventId, tenant }: StoredEvent,
): Promise<{ readonly json: unknown; readonly text: string }> {
  const test = { tenant, scope: { source: "", form: "" }, scopeName: `event ${eventId}` };
  try {
    return await dryRun(pool, context, test, eventId);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { json: { error: error.message }, text: `  ${safe(error.message)}` };
  }
}

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
    const id = parseEventId(input.first);
    const effect = input.option("effect") ?? null;
    if (effect !== null && !/^[a-z]{1,20}$/.test(effect)) {
      throw new UsageError("--effect must be a kind of destination, such as crm or email");
    }
    return async (pool) => {
      const sent = await sendAgain(pool, { eventId: id, effect, seen: null, operator: null });
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

export const leadCommands = (context: CommandContext): readonly Command[] => [list, show(context), resend];
