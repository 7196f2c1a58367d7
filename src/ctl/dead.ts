/** `ctl dead …` */

import { deadBatches, listDeadLetters, replayDead } from "#src/store/operator/dead_letters.ts";
import { settleDeadAsDone } from "#src/store/operator/restored.ts";
import { readEvents, type StoredEvent, summaryJson } from "#src/store/operator/events.ts";
import type { Pool } from "#src/store/pool.ts";
import { readEffects } from "#src/store/operator/event_effects.ts";
import { type Command, Refused, type Reply, WrongUsage } from "./command.ts";
import { contentJson, eventText } from "./lead.ts";
import { listCommand, optionalTenantId } from "./list.ts";
import { counted, firstOf, shortTime } from "./terminal.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";

const list = listCommand({
  words: "dead list",
  isOfTenant: true,
  limit: 50,
  summary: "List dead letters, the newest first",
  prepare: () => listDeadLetters,
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
  summary: "Show a dead letter: all that was accepted, and every attempt",
  prepare: (input) => async (pool) => {
    const id = input.first;
    const [event] = await readEvents(pool, [id]);
    if (event?.delivery.state !== "dead") throw new Refused(notDead([[id, event ?? null]]));
    const { diedAt, reason, attempts } = event.delivery;
    const [effects = []] = await readEffects(pool, [id]);
    return {
      json: {
        ...summaryJson(event),
        died_at: diedAt,
        reason,
        ...contentJson(event),
        attempts: snakeCased(attempts),
        effects: snakeCased(effects),
      },
      text: eventText(event, effects),
    };
  },
};

const replay: Command = {
  words: "dead replay",
  positionals: ["[EVENT_ID…]"],
  options: {
    all: { description: "every dead letter, instead of ids" },
    tenant: { value: "SLUG", description: "with --all: only this tenant's" },
    "dry-run": { description: "show what would be replayed, and change nothing" },
  },
  summary: "Send dead letters again",
  notes: `It is due at once, with attempts that go on from those made before; every attempt stays
in the history. When the actions tier refuses it once more, it is dead again at once:
repair the cause, then replay. While the tier cannot be reached it waits, as a lead does.

When an id is not dead, nothing is replayed and the message names it. --all goes in
batches; stopped half-way, run it again: what is replayed is no longer dead.
--json prints {"replayed":[ids],"dry_run":false}, in the order of the ids.`,
  prepare(input) {
    const ids = [...new Set(input.positionals)].sort();
    const all = input.has("all");
    const isDryRun = input.has("dry-run");
    if (all && ids.length > 0) throw new WrongUsage("--all goes without EVENT_ID");
    if (!all && ids.length === 0) throw new WrongUsage("EVENT_ID or --all is missing");
    if (!all && input.option("tenant") !== undefined) throw new WrongUsage("--tenant goes with --all");
    return async (pool) => {
      if (!all) return replayReply(await replayThese(pool, ids, isDryRun), isDryRun);
      const tenantId = await optionalTenantId(pool, input.option("tenant"));
      return replayReply(await replayAll(pool, tenantId, isDryRun), isDryRun);
    };
  },
};

const done: Command = {
  words: "dead done",
  positionals: ["EVENT_ID…"],
  summary: "Mark dead letters as delivered, without sending them",
  notes: `For a lead that was brought to the customer by hand, or that ctl restored holds and that the
customer has found with its event id. It is due at once: the actions process finds all of its
effects done. When an id is not dead, nothing is changed and the message names it.`,
  prepare(input) {
    const ids = [...new Set(input.positionals)].sort();
    return async (pool) => {
      await refuseOthers(pool, ids, "nothing was changed");
      const settled = await settleDeadAsDone(pool, ids);
      return {
        json: { done: settled },
        text: `Nothing more is sent of ${counted(settled.length, "dead letter")}.`,
      };
    };
  },
};

async function refuseOthers(pool: Pool, ids: readonly string[], consequence: string): Promise<void> {
  const events = await readEvents(pool, ids);
  const others = ids.map((id, index) => [id, events[index] ?? null] as const)
    .filter(([, event]) => event?.delivery.state !== "dead");
  if (others.length > 0) throw new Refused(`${notDead(others)}; ${consequence}`);
}

async function replayThese(
  pool: Pool,
  ids: readonly string[],
  isDryRun: boolean,
): Promise<readonly string[]> {
  await refuseOthers(pool, ids, "nothing was replayed");
  if (isDryRun) return ids;
  const replayed = new Set(await replayDead(pool, ids));
  const missed = ids.filter((id) => !replayed.has(id));
  if (missed.length > 0) {
    throw new Refused(
      `Another operator has replayed ${missed.join(", ")} meanwhile; ${replayed.size} were replayed`,
    );
  }
  return ids;
}

async function replayAll(pool: Pool, tenantId: number | null, isDryRun: boolean): Promise<string[]> {
  const done: string[] = [];
  for await (const ids of deadBatches(pool, tenantId)) {
    done.push(...(isDryRun ? ids : await replayDead(pool, ids)));
  }
  return done;
}

function replayReply(ids: readonly string[], isDryRun: boolean): Reply {
  const what = counted(ids.length, "dead letter");
  const sentence = isDryRun ? `Would replay ${what}; nothing was changed.` : `Replayed ${what}.`;
  return {
    json: { replayed: ids, dry_run: isDryRun },
    text: ids.length === 0 ? "There are no dead letters." : [sentence, ...firstOf(ids)].join("\n"),
  };
}

function notDead(events: readonly (readonly [string, StoredEvent | null])[]): string {
  const named = events.map(([id, event]) => `${id} (${event?.state ?? "there is no such event"})`);
  return `Not dead: ${named.join(", ")}; ctl dead list shows what is`;
}

/** The commands of this noun. */
export const deadCommands: readonly Command[] = [list, show, replay, done];
