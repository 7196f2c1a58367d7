/** Defines `ctl lead return`. */

import type { StoredEvent } from "#src/store/operator/events.ts";
import { noteLengthMax, returnLead, type ReturnOutcome, returnReasons } from "#src/store/operator/returns.ts";
import { type Command, Refused, UsageError } from "./command.ts";
import { dollars, shortTime } from "./terminal.ts";
import { parseChoice, parseEventId, parseLine } from "./values.ts";

/** Returns a lead's return as names and values for `ctl lead show`; none if it was not returned. */
export function returnPairs({ returned }: Pick<StoredEvent, "returned">): (readonly [string, string])[] {
  if (returned === null) return [];
  const { reason, creditCents, at, by, note } = returned;
  return [
    ["Returned", `${reason}, ${dollars(creditCents)} credited, ${shortTime(at)} by ${by}`],
    ...(note === null ? [] : [["Note", note] as const]),
  ];
}

/** The `ctl lead return` command. */
export const leadReturnCommand: Command = {
  words: "lead return",
  positionals: ["EVENT_ID"],
  options: {
    reason: { value: returnReasons.join("|"), description: "why the customer returns it" },
    note: {
      value: "TEXT",
      description: `details, at most ${noteLengthMax} characters; erased with the lead`,
    },
    undo: { description: "take the return back, and with it the credit" },
  },
  summary: "Return a lead for a customer, which credits its cost",
  notes:
    `The credit counts in the month in which the lead was received, in ctl statement, ctl campaign list and the
report. The lead's delivery is unaffected, and the sender is not notified.`,
  prepare(input) {
    const eventId = parseEventId(input.first);
    const [text, isUndo] = [input.option("reason"), input.has("undo")];
    if ((text === undefined) !== isUndo) throw new UsageError("Give either --reason or --undo");
    const reason = text === undefined ? null : parseChoice(text, "--reason", returnReasons);
    const noteText = input.option("note");
    if (isUndo && noteText !== undefined) throw new UsageError("--note cannot be combined with --undo");
    const note = noteText === undefined ? null : parseLine(noteText, "--note", noteLengthMax);
    return async (pool) => {
      const { outcome, creditCents } = await returnLead(pool, { eventId, reason, note, operator: null });
      if (outcome !== "returned" && outcome !== "undone") {
        throw new Refused(`${returnRefusals[outcome](eventId)}; nothing was changed`);
      }
      const amount = dollars(Math.abs(creditCents ?? 0));
      return {
        json: { event_id: eventId, outcome, reason, credit_cents: creditCents },
        text: reason === null
          ? `${eventId} is no longer returned; the credit of ${amount} was taken back.`
          : `${eventId} is returned (${reason}); ${amount} was credited.`,
      };
    };
  },
};

const returnRefusals: Readonly<
  Record<Exclude<ReturnOutcome["outcome"], "returned" | "undone">, (id: string) => string>
> = {
  already: (id) => `${id} is already returned; ctl lead return ${id} --undo takes it back`,
  not_returned: (id) => `${id} is not returned`,
  form: (id) => `${id} is a form submission, which costs nothing; ctl form spam ${id} reports it as spam`,
  erased: (id) => `The content of ${id} has been removed, so no note can be stored; leave out --note`,
  unknown: (id) => `There is no event ${id}; see ctl lead list`,
};
