/** The effects of an event on its page, and the buttons that send a delivered event again. */

import { type Markup, markup } from "../../http/markup.ts";
import { verbatim } from "./content.ts";
import type { Context } from "./context.ts";
import { RefusedPage } from "./layout.ts";
import { actionForm, idPattern, type NoteCode, readForm, withNote } from "./request.ts";
import { badge, renderSentence, safeText } from "./text.ts";
import { effectName, sendAgain, type ShownEffect } from "../../store/operator/event_effects.ts";
import type { StoredEvent } from "../../store/operator/events.ts";
import { effectSentence, effectTitle } from "../../store/operator/timeline.ts";

const sendAgainPath = "/leads/send-again";

/** Lists the effects, each with its last response, and a link to what is sent. */
export function effectsSection(
  event: StoredEvent,
  effects: readonly ShownEffect[],
  context: Context,
): Markup {
  const { tokens, parts } = context;
  const sent = event.lead !== null && parts.dryRun !== null &&
    markup`<p><a class="button" href="/leads/${event.eventId}/sent">What is sent</a> <span class="quiet">rendered again, with secrets as
<code>***</code>; nothing is sent</span></p>`;
  if (effects.length === 0) return markup`${sent}`;
  const kinds = [...new Set(effects.map(({ effect }) => effect))];
  const isSettled = event.delivery.state === "delivered" || event.delivery.state === "marked";
  return markup`<h2>Effects</h2>
<ul class="effects">${effects.map((effect) => markup`<li>${effectLine(effect, context)}</li>\n`)}</ul>
${sent}${
    isSettled && event.lead !== null && markup`<details class="ask"><summary>Send again…</summary>
<p>Send it again? Recipients: ${
      effects.map((effect, index) =>
        markup`${index > 0 && ", "}${renderSentence(effectTitle(effect), context.clock)}`
      )
    }. The customer receives it twice, under the same event id.</p>
${
      actionForm(
        {
          tokens,
          path: sendAgainPath,
          className: "row",
          hidden: { only: event.eventId, seen: event.delivery.attempts.at(-1)?.number ?? 0 },
        },
        markup`<button name="effect" value="all">Send to all</button>
${
          kinds.length > 1 &&
          kinds.map((kind) =>
            markup`<button name="effect" value="${kind}">Send to ${effectName(kind)} only</button> `
          )
        }`,
      )
    }</details>`
  }`;
}

function effectLine(effect: ShownEffect, { clock }: Context): Markup {
  const { target, state, status, headers, answer } = effect;
  const head = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`).join("\n");
  const response = [head, answer ?? ""].filter((text) => text !== "").join("\n\n");
  return markup`<strong>${effectName(effect.effect)}</strong>${
    target !== null && markup` to ${safeText(target)}`
  } ${badge(state)}${renderSentence(effectSentence(effect), clock)}${
    response !== "" &&
    markup`<details><summary>Response${status !== null && ` ${status}`}</summary>${
      verbatim(response, "Response")
    }</details>`
  }`;
}

const sendAgainNotes: Readonly<Record<Awaited<ReturnType<typeof sendAgain>>, NoteCode>> = {
  sent: "sent_again",
  waiting: "again_waiting",
  already: "again_already",
  dead: "again_dead",
  held: "again_held",
  erased: "again_erased",
  sandbox: "again_sandbox",
  no_route: "again_no_route",
  no_effect: "again_no_route",
  unknown: "again_erased",
};

/** `POST /leads/send-again`: repeats an event's effects, all or those of one kind, at most once per page load. */
export async function sendAgainAction({ parts, tokens, exchange, operator }: Context): Promise<string> {
  const form = await readForm(exchange, { tokens, path: sendAgainPath, names: ["only", "effect", "seen"] });
  const eventId = form.matching("only", idPattern);
  const effect = form.matching("effect", /^[a-z]{1,20}$/);
  const seen = form.matching("seen", /^\d{1,9}$/);
  if (eventId === null || effect === null || seen === null) {
    throw new RefusedPage(400, "Not an event id", markup`<p>Nothing was changed.</p>`);
  }
  const sent = await sendAgain(parts.pool, {
    eventId,
    effect: effect === "all" ? null : effect,
    seen: Number(seen),
    operator,
  });
  return withNote(`/leads/${eventId}`, { tokens, code: sendAgainNotes[sent] });
}
