/**
 * `ctl restored`
 *
 * @module
 */

import { readRestoredFacts } from "#src/store/operator/restored.ts";
import { type Applied, apply, type Deed, examine, type Found } from "./after_restore.ts";
import { type Command, Refused, type Reply } from "./command.ts";
import { readEvidence } from "./evidence.ts";
import { JsonText, shortTime, table } from "./terminal.ts";
import { parseTime } from "./values.ts";

// Lines that a person is shown of each kind; --json has all.
const shownMax = 20;

const restored: Command = {
  words: "restored",
  positionals: [],
  options: {
    journal: {
      value: "FILE",
      several: true,
      description: "logs of the processes, and what ctl audit export has printed; may be given several times",
    },
    point: {
      value: "TIME",
      description:
        "the moment that was restored to; left out, the server is asked, which knows until it stops",
    },
    apply: {
      description: "put right what can be, and hold what may be repeated; without it nothing is changed",
    },
  },
  summary: "After a restore of the database: tell what is lost, undone or may be repeated, and put it right",
  notes: `Run it before the service and the actions process are started. What happened after the moment of the
restore stands in two places that a restore leaves alone: the log, of every machine that ran a
process (journalctl -o cat -u 'lead-*'), and the shipped audit (ctl audit export).

By the log an event that waits was delivered since, in part or whole: with --apply its effects are
noted as done, so that they are not repeated. What the log does not cover, or leaves unclear,
may be repeated: it is named with the reason, and with --apply held among the dead letters.
Decide there, by event: ctl dead replay delivers it, ctl dead done says that the customer has it.

By the audit keys were revoked and people erased since: with --apply that is done again. All else that
operators did since is listed, to be done again by hand. What was accepted since is lost, and its
senders believe it delivered: the list has keys and request ids.`,
  prepare(input) {
    const files = input.options("journal");
    const isApplied = input.has("apply");
    const text = input.option("point");
    const point = text === undefined
      ? null
      : parseTime(text, { name: "--point", direction: "past", nowMs: Date.now() });
    return async (pool) => {
      const facts = await readRestoredFacts(pool);
      const at = point ?? facts.point;
      if (at === null) {
        throw new Refused(
          "This server does not know a moment that it was restored to, or was restarted since; --point TIME says it",
        );
      }
      if (isApplied && facts.processes > 0) {
        throw new Refused(
          `${facts.processes} connections of the service are open: stop it first; nothing was changed`,
        );
      }
      const evidence = await readEvidence(files, at);
      const found = await examine(pool, { facts, point: at, evidence });
      return reply(found, isApplied ? await apply(pool, found) : null);
    };
  },
};

function reply(found: Found, applied: Applied | null): Reply {
  const { point, waiting, done, doubts, lost, deeds, warnings } = found;
  return {
    json: {
      point,
      applied: applied !== null,
      waiting,
      done: [...Map.groupBy(done, ({ eventId }) => eventId)]
        .map(([eventId, effects]) => ({ event_id: eventId, effects: effects.map(({ effect }) => effect) })),
      may_repeat: doubts.map(({ eventId, tenant, receivedAt, attempts, reason }) => ({
        ...{ event_id: eventId, tenant, received_at: receivedAt, attempts_made: attempts, reason },
      })),
      lost: lost.map(({ keyId, tenant, label, requestIds }) => ({
        ...{ key_id: keyId, tenant, source: label, request_ids: requestIds },
      })),
      deeds: deeds.map(({ at, actor, action, subject, detail, again }) => ({
        ...{ at, actor, action, subject },
        detail: detail === null ? null : new JsonText(detail),
        again: again?.kind ?? null,
      })),
      ...(applied === null ? {} : { noted: applied.noted, held: applied.held, revoked: applied.revoked }),
      ...(applied === null ? {} : { erased: applied.erased }),
      warnings,
    },
    text: text(found, applied),
    warning: warnings.length === 0 ? undefined : warnings.join("\n"),
  };
}

function text({ point, waiting, waitingDone, doubts, lost, deeds }: Found, applied: Applied | null): string {
  const again = deeds.filter((deed) => deed.again !== null);
  const byHand = deeds.filter((deed) => deed.again === null && !isPart(deed));
  const posts = lost.reduce((sum, { requestIds }) => sum + requestIds.length, 0);
  const parts = [
    `Restored to ${point}. ${
      applied === null ? "Nothing was changed; --apply puts right what can be." : "What can be put right, is."
    }`,
    waitingText(waiting, waitingDone, applied !== null),
    doubts.length === 0 ? "No event may be repeated." : [
      `${count(doubts.length, "event")} may be repeated${
        applied === null
          ? "; --apply holds them"
          : ", and held: ctl dead replay EVENT_ID delivers, ctl dead done EVENT_ID does not"
      }:`,
      listed(doubts, {
        "EVENT ID": ({ eventId }) => eventId,
        "TENANT": ({ tenant }) => tenant,
        "RECEIVED (UTC)": ({ receivedAt }) => shortTime(receivedAt),
        "WHY": ({ reason }) => reason,
      }),
    ].join("\n"),
    posts === 0 ? "No answer 202 since then is in the log." : [
      `${count(posts, "post")} since then ${posts === 1 ? "was" : "were"} answered 202 and ${
        posts === 1 ? "is" : "are"
      } lost. Ask the senders to post again what they sent since ${shortTime(point)}:`,
      listed(lost, {
        "KEY": ({ keyId }) => keyId,
        "TENANT": ({ tenant }) => tenant ?? "issued since, and gone",
        "SOURCE": ({ label }) => label ?? "-",
        ">POSTS": ({ requestIds }) => String(requestIds.length),
        "REQUEST IDS": ({ requestIds }) =>
          requestIds.slice(0, 3).join(" ") + (requestIds.length > 3 ? " …" : ""),
      }),
    ].join("\n"),
  ];
  if (again.length > 0) {
    parts.push(
      `Undone by the restore, and ${applied === null ? "done again with --apply" : "done again"}:\n${
        deedTable(again)
      }`,
    );
  }
  if (byHand.length > 0) {
    parts.push(`Undone by the restore; to be done again by hand:\n${deedTable(byHand)}`);
  }
  return parts.join("\n\n");
}

function waitingText(waiting: number, done: number, isApplied: boolean): string {
  if (waiting === 0) return "Nothing waits to be delivered.";
  const wait = `${count(waiting, "event")} ${waiting === 1 ? "waits" : "wait"} to be delivered`;
  if (done === 0) return `${wait}; by the log none had effects since.`;
  return `${wait}; by the log ${done} had effects since, which ${
    isApplied ? "are" : "--apply has"
  } noted as done and not repeated.`;
}

/** The beginning and the end of an erasure say nothing that its events do not. */
function isPart({ action }: Deed): boolean {
  return action === "person.erase_begin" || action === "person.erase";
}

function deedTable(deeds: readonly Deed[]): string {
  return listed(deeds, {
    "WHEN (UTC)": ({ at }) => shortTime(at),
    "WHO": ({ actor }) => actor,
    "WHAT": ({ action }) => action,
    "TO": ({ subject }) => subject,
    "DETAIL": ({ detail }) => detail ?? "-",
  });
}

function listed<Row>(rows: readonly Row[], columns: Readonly<Record<string, (row: Row) => string>>): string {
  const lines = table(rows.slice(0, shownMax), "", columns);
  return rows.length > shownMax ? `${lines}\nand ${rows.length - shownMax} more; --json has all` : lines;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

/** The command; it has no verb. */
export const restoredCommands: readonly Command[] = [restored];
