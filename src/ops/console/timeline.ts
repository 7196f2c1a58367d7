/**
 * One lead or submission, from its post to its effect.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import { readEvents, type StoredEvent } from "../../store/operator/events.ts";
import { type EventSurroundings, readEffects, readSurroundings } from "../../store/operator/event_effects.ts";
import { listAuditOf } from "../../store/operator/audit.ts";
import { tokenField } from "./action.ts";
import { erased, extras, facts, verbatim } from "./content.ts";
import type { ConsoleParts, Context } from "./context.ts";
import { effectsSection } from "./effects.ts";
import { reasons } from "./held.ts";
import { type ConsolePage, RefusedPage } from "./layout.ts";
import { idShape, parseQuery, queryOf } from "./query.ts";
import { badge, badges } from "./state.ts";
import { type Moment, momentsOf, whatNext } from "./story.ts";
import { count, type PageClock, shown, time } from "./text.ts";
import type { Tokens } from "./token.ts";

const auditMax = 100;

/** `/leads/{event_id}` */
export async function timelinePage({ parts, tokens, exchange, query, clock }: Context): Promise<ConsolePage> {
  parseQuery(query, []);
  const id = exchange.params.event_id ?? "";
  const [event] = idShape.test(id) ? await readEvents(parts.pool, [id]) : [];
  const around = event ? await readSurroundings(parts.pool, id) : null;
  if (!event || around === null) {
    throw new RefusedPage(
      404,
      "There is no such event",
      markup`<p>Look for it among the <a href="/leads">leads and submissions</a>; an id is copied whole, such as from the
caller's log.</p>`,
    );
  }
  const audit = await listAuditOf(parts.pool, { subject: id, limit: auditMax });
  const [effects = []] = await readEffects(parts.pool, [id]);
  const name = event.kind === "lead" ? "Lead" : "Submission";
  return {
    title: `${name} ${event.eventId}`,
    body: markup`<h1>${name} <span class="id">${event.eventId}</span></h1>
${standing(event, { around, tokens, clock })}
${heading(event, { around, parts, clock })}
${effectsSection(event, { effects, tokens, clock })}
<h2>From post to effect</h2>
${story(momentsOf(event, { around, audit, clock }), clock)}
<div class="sides"><section><h2>${name}, normalized</h2>${facts(event.lead)}</section>
<section><h2>Extra</h2>${
      event.lead !== null && event.extra === null
        ? markup`<p class="quiet">Nothing was sent outside the envelope.</p>`
        : event.extra === null
        ? erased
        : extras(event.extra)
    }<h2>Body as posted</h2>${verbatim(event.raw, "Body as posted")}</section></div>`,
  };
}

/** Where it stands now, what comes next, and the button for it. */
function standing(
  event: StoredEvent,
  { around, tokens, clock }: { around: EventSurroundings; tokens: Tokens; clock: PageClock },
): Markup {
  const { state } = event.delivery;
  const tone = state === "dead" ? "bad" : state === "delivered" ? "good" : "warn";
  return markup`<div class="${tone} message"><p>${badge(state)} ${whatNext(event, { around, clock })}</p>
${
    state === "held" &&
    markup`<form method="post" action="/held/judge">${
      tokenField(tokens, "/held/judge")
    }<input type="hidden" name="page" value="lead"><button class="main" name="release" value="${event.eventId}">Release</button>${
      event.found?.dismissedAt === null &&
      markup` <button name="dismiss" value="${event.eventId}">Dismiss</button>`
    }</form>`
  }
${
    state === "dead" &&
    markup`<form method="post" action="/dead/replay">${
      tokenField(tokens, "/dead/replay")
    }<input type="hidden" name="page" value="lead"><button class="main" name="only" value="${event.eventId}">Replay</button></form>`
  }</div>`;
}

function heading(
  event: StoredEvent,
  { around, parts, clock }: { around: EventSurroundings; parts: ConsoleParts; clock: PageClock },
): Markup {
  const { found } = event;
  return markup`<dl class="facts">
<dt>Received</dt><dd>${time(event.receivedAt, clock)}</dd>
<dt>Tenant</dt><dd><a href="/leads${queryOf({ tenant: event.tenant })}">${event.tenant}</a>${
    around.sandbox && markup` <span class="badge">sandbox</span>`
  }${!around.sandbox && !around.hasRoute && markup` <span class="badge bad">no route</span>`}</dd>
<dt>Source</dt><dd>${shown(event.source)}, key ${around.keyId} (ends in <code>${around.last4}</code>)${
    around.keyRevokedAt !== null && markup`, revoked ${time(around.keyRevokedAt, clock)}`
  }</dd>
<dt>Idempotency-Key</dt><dd>${
    event.idempotencyKey !== null
      ? shown(event.idempotencyKey)
      : /k/i.test(around.dedupeSpace)
      ? "erased; its digest is kept, so that a late retry is still a duplicate"
      : "none: told apart by its content"
  }</dd>
${
    found === null
      ? markup`<dt>Flags</dt><dd>${badges(event.flags)}</dd>`
      : markup`<dt>Form</dt><dd>${shown(found.formKey)}</dd>
${event.flags.length > 0 && markup`<dt>Flags</dt><dd>${badges(event.flags)}</dd>`}
<dt>Verdict</dt><dd>${badge(found.verdict)} score ${count(found.score)}</dd>
<dt>Reasons</dt><dd>${reasons(found.reasons, parts)}</dd>`
  }
</dl>`;
}

function story(moments: readonly Moment[], clock: PageClock): Markup {
  return markup`<ol class="story">${
    moments.map(({ at, tone, title, text }) =>
      markup`<li${tone !== null && markup` class="${tone}"`}><strong>${title}</strong> <span class="quiet">${
        time(at, clock)
      }</span>${text !== null && markup`<br>${text}`}</li>
`
    )
  }</ol>`;
}
