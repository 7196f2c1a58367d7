/**
 * The effects of a lead or submission, each by name, and the button that has them done once more.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import { effectName, sendAgain, type ShownEffect } from "../../store/operator/event_effects.ts";
import type { StoredEvent } from "../../store/operator/events.ts";
import { readForm, tokenField } from "./action.ts";
import type { Context } from "./context.ts";
import { RefusedPage } from "./layout.ts";
import { type NoteCode, withNote } from "./notes.ts";
import { idShape } from "./query.ts";
import { badge } from "./state.ts";
import { counted, type PageClock, shown, time } from "./text.ts";
import type { Tokens } from "./token.ts";

const path = "/leads/send-again";

/** The list, and below it the buttons for a delivered event; nothing where there is none. */
export function effectsSection(
  event: StoredEvent,
  { effects, tokens, clock }: {
    readonly effects: readonly ShownEffect[];
    readonly tokens: Tokens;
    readonly clock: PageClock;
  },
): Markup {
  if (effects.length === 0) return markup``;
  const kinds = [...new Set(effects.map(({ effect }) => effect))];
  const isDelivered = event.delivery.state === "delivered" && event.lead !== null;
  return markup`<h2>Effects</h2>
<ul class="effects">${effects.map((effect) => markup`<li>${line(effect, clock)}</li>\n`)}</ul>
${
    isDelivered && markup`<form method="post" action="${path}" class="row">
${tokenField(tokens, path)}<input type="hidden" name="only" value="${event.eventId}"><input
 type="hidden" name="seen" value="${event.delivery.attempts.at(-1)?.number ?? 0}">
<button name="effect" value="all">Send again</button>
${
      kinds.length > 1 &&
      kinds.map((kind) => markup`<button name="effect" value="${kind}">${effectName(kind)} alone</button> `)
    }
<span class="quiet">Under the same event id, by which a receiver can recognise the repeat.</span></form>`
  }`;
}

function line({ effect, target, state, busyUntil, ...last }: ShownEffect, clock: PageClock): Markup {
  const { status, answer, reason, attempts, settledAt } = last;
  return markup`<strong>${effectName(effect)}</strong>${
    target === null
      ? state === "waiting" ? markup`` : markup` <span class="quiet">(its route has changed since)</span>`
      : markup` to ${shown(target)}`
  } ${badge(state)}${status !== null && markup` <strong>${status}</strong>`}${
    state === "busy"
      ? markup`, until ${time(busyUntil, clock)} at most`
      : settledAt !== null && markup` ${time(settledAt, clock)}`
  }${reason !== null && markup`, ${shown(reason)}`}${attempts > 1 && `, tried ${counted(attempts, "time")}`}${
    answer !== null && answer !== "" &&
    markup`<br><span class="quiet">It said:</span> <code>${shown(answer)}</code>`
  }`;
}

const noteCodes: Readonly<Record<Awaited<ReturnType<typeof sendAgain>>, NoteCode>> = {
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

/** `POST /leads/send-again`: one event, all its effects or those of one kind; once by one page, however often it is pressed. */
export async function sendAgainAction({ parts, tokens, exchange }: Context): Promise<string> {
  const form = await readForm(exchange, { tokens, path, names: ["only", "effect", "seen"] });
  const eventId = form.shaped("only", idShape);
  const effect = form.shaped("effect", /^[a-z]{1,20}$/);
  const seen = form.shaped("seen", /^\d{1,9}$/);
  if (eventId === null || effect === null || seen === null) {
    throw new RefusedPage(400, "This is no event", markup`<p>Nothing was changed.</p>`);
  }
  const sent = await sendAgain(parts.pool, {
    eventId,
    effect: effect === "all" ? null : effect,
    seen: Number(seen),
    address: exchange.clientAddress,
  });
  return withNote(`/leads/${eventId}`, { tokens, code: noteCodes[sent] });
}
