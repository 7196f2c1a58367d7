/** Defines the `ctl dead` commands. */

import { destinationKinds } from "#src/store/delivery/effects.ts";
import {
  countDead,
  deadBatches,
  type DeadFilter,
  listDeadLetters,
  replayDead,
} from "#src/store/operator/dead_letters.ts";
import { settleDeadAsDone } from "#src/store/operator/restored.ts";
import { readEvents, type StoredEvent, summaryJson } from "#src/store/operator/events.ts";
import type { Pool } from "#src/store/pool.ts";
import { type Command, type Input, Refused, type Reply, UsageError } from "./command.ts";
import { requireYes, yesOption } from "./confirm.ts";
import { contentJson, eventText, readRecords } from "./event_text.ts";
import { listCommand, optionalTenantId } from "./list.ts";
import { boundedText, counted, firstOf, shortTime } from "./terminal.ts";
import { parseChoice, parseEventId, parseEventIds, parseTime } from "./values.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";

/** The options that select dead letters, apart from `--tenant`. */
const filterOptions = {
  source: { value: "LABEL", description: "only those posted with keys that have this label" },
  reason: { value: "TEXT", description: "only those whose reason contains this text, such as http_503" },
  to: {
    value: destinationKinds.join("|"),
    description: "only those whose last attempt failed at this destination",
  },
  since: { value: "TIME", description: "only those received since then" },
  until: { value: "TIME", description: "only those received before then" },
} as const;

function parseFilter(input: Input): Omit<DeadFilter, "tenantId"> {
  const time = (name: "since" | "until") => {
    const text = input.option(name);
    return text === undefined
      ? null
      : parseTime(text, { name: `--${name}`, direction: "past", nowMs: Date.now() });
  };
  const [since, until] = [time("since"), time("until")];
  if (since !== null && until !== null && since >= until) {
    throw new UsageError("--until must be later than --since");
  }
  const to = input.option("to");
  return {
    source: input.option("source") ?? null,
    reason: input.option("reason") ?? null,
    to: to === undefined ? null : parseChoice(to, "--to", destinationKinds),
    since,
    until,
  };
}

const list = listCommand({
  words: "dead list",
  isTenantScoped: true,
  options: filterOptions,
  limit: 50,
  summary: "List dead letters, newest first",
  prepare(input) {
    const filter = parseFilter(input);
    return (pool, page) => listDeadLetters(pool, { ...filter, ...page });
  },
  empty: "No dead letters.",
  columns: {
    "DIED (UTC)": (letter) => shortTime(letter.diedAt),
    "EVENT ID": (letter) => letter.eventId,
    "KIND": (letter) => letter.kind,
    "TENANT": (letter) => letter.tenant,
    "SOURCE": (letter) => letter.source,
    "RECEIVED (UTC)": (letter) => shortTime(letter.receivedAt),
    ">ATTEMPTS": (letter) => String(letter.attemptsMade),
    "REASON": (letter) => letter.reason ?? "-",
  },
});

const show: Command = {
  words: "dead show",
  positionals: ["EVENT_ID"],
  summary: "Show a dead letter with its content and every attempt",
  prepare: (input) => async (pool) => {
    const id = parseEventId(input.first);
    const [event] = await readEvents(pool, [id]);
    if (event?.delivery.state !== "dead") throw new Refused(notDead([[id, event ?? null]]));
    const { diedAt, reason, attempts } = event.delivery;
    const [record] = await readRecords(pool, [event]);
    return {
      json: {
        ...summaryJson(event),
        died_at: diedAt,
        reason,
        ...contentJson(event),
        attempts: snakeCased(attempts),
        effects: snakeCased(record?.effects ?? []),
      },
      text: record === undefined ? "" : eventText(record),
    };
  },
};

const replay: Command = {
  words: "dead replay",
  positionals: ["[EVENT_ID…]"],
  options: {
    all: { description: "replay every dead letter that the other options select, instead of naming ids" },
    tenant: { value: "SLUG", description: "only this tenant" },
    ...filterOptions,
    ...yesOption,
    "dry-run": { description: "show what would be replayed without changing anything" },
  },
  summary: "Send dead letters again",
  notes: `Delivery starts immediately. The numbering of attempts continues, and every attempt stays in the
history. If the actions tier refuses an event again, it is dead again at once, so fix the cause first.
While the tier cannot be reached, the event waits like any other.

If an id is not dead, nothing is replayed and the message names the id. --all says how many it replays
and asks on the terminal; without a terminal, it needs --yes. It works in batches. If it is interrupted,
run it again: replayed letters are no longer dead, so two operators never replay one twice.
--json prints {"replayed":[ids],"dry_run":false}, with the ids sorted.`,
  prepare(input) {
    const all = input.has("all");
    const isDryRun = input.has("dry-run");
    if (all && input.positionals.length > 0) throw new UsageError("--all cannot be combined with EVENT_ID");
    if (!all && input.positionals.length === 0) throw new UsageError("EVENT_ID or --all is required");
    const given = ["tenant", ...Object.keys(filterOptions)].filter((name) =>
      input.option(name) !== undefined
    );
    if (!all && given.length > 0) throw new UsageError(`--${given[0]} requires --all`);
    const ids = parseEventIds(input.positionals).sort();
    const filter = parseFilter(input);
    return async (pool) => {
      if (!all) return replayReply(await replayIds(pool, ids, isDryRun), isDryRun);
      const selected = { ...filter, tenantId: await optionalTenantId(pool, input.option("tenant")) };
      const total = await countDead(pool, selected);
      if (total.count > 0 && !isDryRun) {
        const what = boundedText(total, "dead letter");
        await requireYes(input, `Replay ${what}${given.length === 0 ? " of all tenants" : ""}?`);
      }
      const replayed = await replayAll(pool, selected, isDryRun);
      const missed = isDryRun ? 0 : total.count - replayed.length;
      return replayReply(replayed, isDryRun, missed);
    };
  },
};

const markDone: Command = {
  words: "dead done",
  positionals: ["EVENT_ID…"],
  summary: "Mark dead letters as done, without sending them",
  notes: `Use it for a lead that you gave to the customer by hand, or that ctl restored holds and the customer
already has. Nothing is sent: the event's state is then marked, or delivered if an earlier attempt delivered
it, and ctl lead show and the console say who marked it. If an id is not dead, nothing is changed and the message names the id.`,
  prepare(input) {
    const ids = parseEventIds(input.positionals).sort();
    return async (pool) => {
      await requireDead(pool, ids, "nothing was changed");
      const settled = await settleDeadAsDone(pool, ids);
      return {
        json: { done: settled },
        text: `Marked ${counted(settled.length, "dead letter")} as done; nothing was sent.`,
      };
    };
  },
};

async function requireDead(pool: Pool, ids: readonly string[], consequence: string): Promise<void> {
  const events = await readEvents(pool, ids);
  const others = ids.map((id, index) => [id, events[index] ?? null] as const)
    .filter(([, event]) => event?.delivery.state !== "dead");
  if (others.length > 0) throw new Refused(`${notDead(others)}; ${consequence}`);
}

async function replayIds(
  pool: Pool,
  ids: readonly string[],
  isDryRun: boolean,
): Promise<readonly string[]> {
  await requireDead(pool, ids, "nothing was replayed");
  if (isDryRun) return ids;
  const replayed = new Set(await replayDead(pool, ids));
  const missed = ids.filter((id) => !replayed.has(id));
  if (missed.length > 0) {
    throw new Refused(
      `Another command replayed or removed ${
        missed.join(", ")
      } in the meantime; this one replayed ${replayed.size}`,
    );
  }
  return ids;
}

async function replayAll(pool: Pool, filter: DeadFilter, isDryRun: boolean): Promise<string[]> {
  const replayed: string[] = [];
  for await (const ids of deadBatches(pool, filter)) {
    replayed.push(...(isDryRun ? ids : await replayDead(pool, ids)));
  }
  return replayed;
}

/** `missed`: how many selected dead letters another operator replayed in the meantime. */
function replayReply(ids: readonly string[], isDryRun: boolean, missed = 0): Reply {
  const what = counted(ids.length, "dead letter");
  const sentence = isDryRun ? `Would replay ${what}; nothing was changed.` : `Replayed ${what}.`;
  return {
    json: { replayed: ids, dry_run: isDryRun },
    text: ids.length === 0 && missed === 0
      ? "There are no such dead letters."
      : [sentence, ...firstOf(ids)].join("\n"),
    warning: missed > 0
      ? `${counted(missed, "dead letter")} had been replayed or removed by someone else in the meantime.`
      : undefined,
  };
}

function notDead(events: readonly (readonly [string, StoredEvent | null])[]): string {
  const named = events.map(([id, event]) => `${id} (${event?.state ?? "no such event"})`);
  return `Not dead: ${named.join(", ")}; ctl dead list shows dead letters`;
}

export const deadCommands: readonly Command[] = [list, show, replay, markDone];
