/** The section of a lead's page that returns the lead, and the action behind its buttons. */

import { type Markup, markup } from "../../http/markup.ts";
import type { StoredEvent } from "../../store/operator/events.ts";
import {
  noteLengthMax,
  returnLead,
  type ReturnOutcome,
  returnReasons,
} from "../../store/operator/returns.ts";
import type { Context } from "./context.ts";
import { RefusedPage, select } from "./layout.ts";
import { actionForm, idPattern, type NoteCode, readForm, withNote } from "./request.ts";
import { badge, formatCents, safeText, timeElement } from "./text.ts";
import { notFound } from "./wrong_id.ts";

const path = "/leads/return";

/** Renders a lead's return with the button that undoes it, or the form that returns the lead; empty for a submission. */
export function returnSection({ eventId, kind, returned }: StoredEvent, { tokens, clock }: Context): Markup {
  if (kind !== "lead") return markup``;
  if (returned === null) {
    return markup`<details class="ask"><summary>Return this lead…</summary>
<p>The customer is credited its cost in the month in which it was received. The sender is not notified.</p>
${
      actionForm(
        { tokens, path, className: "row", hidden: { only: eventId } },
        markup`${
          select("reason", returnReasons.map((reason) => [reason, withSpaces(reason)] as const), {
            label: "Reason",
            selected: "other",
          })
        }<div><label for="note">Note (optional)</label><input id="note" name="note" maxlength="${noteLengthMax}" autocomplete="off"></div>
<button>Return it</button>`,
      )
    }</details>`;
  }
  const { reason, creditCents, at, by, note } = returned;
  return markup`<div class="warn message"><p>${badge("returned")} <strong>${withSpaces(reason)}</strong>, ${
    formatCents(creditCents)
  } credited, by ${safeText(by)} ${timeElement(at, clock)}${
    note !== null && markup`<br>${safeText(note)}`
  }</p>
${
    actionForm(
      { tokens, path, hidden: { only: eventId } },
      markup`<button name="undo" value="yes">Undo the return</button>`,
    )
  }</div>`;
}

const withSpaces = (reason: string) => reason.replaceAll("_", " ");

const notes: Readonly<Record<Exclude<ReturnOutcome["outcome"], "unknown">, NoteCode>> = {
  returned: "lead_returned",
  undone: "return_undone",
  already: "return_already",
  not_returned: "return_not_returned",
  form: "return_form",
  erased: "return_erased",
};

/** `POST /leads/return`: returns a lead, or undoes its return. */
export async function returnAction({ parts, tokens, exchange, operator }: Context): Promise<string> {
  const form = await readForm(exchange, { tokens, path, names: ["only", "reason", "note", "undo"] });
  const eventId = form.matching("only", idPattern);
  const reason = form.oneOf("reason", returnReasons);
  const note = form.line("note", noteLengthMax);
  if (eventId === null || (reason === null) !== (form.oneOf("undo", ["yes"]) !== null)) {
    throw new RefusedPage(400, "Not a lead and a reason", markup`<p>Nothing was changed.</p>`);
  }
  const { outcome } = await returnLead(parts.pool, {
    eventId,
    reason,
    note: reason === null ? null : note,
    operator,
  });
  if (outcome === "unknown") throw notFound("event", eventId);
  return withNote(`/leads/${eventId}`, { tokens, code: notes[outcome] });
}
