/** The spam verdict on an event's page, and reports of spam. */

import { type Markup, markup } from "../../http/markup.ts";
import { reasonList } from "./content.ts";
import type { ConsoleParts, Context } from "./context.ts";
import { RefusedPage } from "./layout.ts";
import { actionForm, idPattern, type NoteCode, readForm, withNote } from "./request.ts";
import { badge, badges, formatCount, safeText, truncated } from "./text.ts";
import { markSpam, type SpamMark } from "../../store/operator/held.ts";
import type { StoredEvent } from "../../store/operator/events.ts";

const spamPath = "/leads/mark-spam";

const spamMarkNotes: Readonly<Record<SpamMark, NoteCode>> = {
  marked: "spam_marked",
  already: "spam_marked",
  held: "again_held",
  erased: "again_erased",
  unknown: "again_erased",
};

/** `POST /leads/mark-spam`: reports a delivered submission as spam, or withdraws the report. */
export async function markSpamAction({ parts, tokens, exchange, operator }: Context): Promise<string> {
  const form = await readForm(exchange, { tokens, path: spamPath, names: ["only", "is_spam"] });
  const eventId = form.matching("only", idPattern);
  const isSpam = form.oneOf("is_spam", ["yes", "no"]);
  if (eventId === null || isSpam === null) {
    throw new RefusedPage(400, "Not an event id", markup`<p>Nothing was changed.</p>`);
  }
  const mark = await markSpam(parts.pool, eventId, {
    isSpam: isSpam === "yes",
    operator,
    labelFeatures: parts.labelFeatures,
  });
  return withNote(`/leads/${eventId}`, { tokens, code: spamMarkNotes[mark] });
}

/** Renders the button that reports a delivered submission as spam, or withdraws the report. */
export function spamForm(event: StoredEvent, { tokens }: Context): Markup | null {
  if (event.state === "held" || event.submission === null || event.lead === null) return null;
  return actionForm(
    { tokens, path: spamPath, hidden: { only: event.eventId } },
    event.submission.label === "spam"
      ? markup`Reported as spam. <button name="is_spam" value="no">Not spam</button>`
      : markup`<button name="is_spam" value="yes">Report as spam</button>`,
  );
}

/** Renders a lead's flags, or a submission's form and verdict, as terms of the page's summary. */
export function verdictFacts(event: StoredEvent, parts: ConsoleParts): Markup {
  const { submission } = event;
  return markup`${
    submission === null
      ? markup`<dt>Flags</dt><dd>${badges(event.flags)}</dd>`
      : markup`<dt>Form</dt><dd>${safeText(submission.formKey)}</dd>
${event.flags.length > 0 && markup`<dt>Flags</dt><dd>${badges(event.flags)}</dd>`}
<dt>Verdict</dt><dd>${badge(submission.verdict)} score ${formatCount(submission.score)}</dd>
<dt>Reasons</dt><dd>${reasonList(submission.reasons, parts)}</dd>
${event.lead !== null && submission.score > 0 && renderEvidence({ ...event, lead: event.lead }, parts)}`
  }`;
}

/** Renders the main evidence for spam, according to the current model. */
function renderEvidence(
  stored: StoredEvent & { readonly lead: string },
  parts: ConsoleParts,
): Markup {
  const shares = parts.explainSpam(stored);
  if (shares.length === 0) return markup``;
  return markup`<dt>Main evidence</dt><dd><ul class="reasons">${
    shares.map((share) =>
      markup`<li>${
        "words" in share
          ? markup`“${truncated(share.words, 80)}”`
          : parts.spamMeanings[share.reason] ?? safeText(share.reason)
      } <span class="quiet">${share.percent}%</span></li>`
    )
  }</ul></dd>`;
}
