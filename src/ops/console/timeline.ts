/** `/leads/{event_id}`: a lead or submission, from its post to its effects. */

import { type Markup, markup } from "../../http/markup.ts";
import { erasedNote, factList, verbatim } from "./content.ts";
import type { Context } from "./context.ts";
import { effectsSection } from "./effects.ts";
import type { ConsolePage } from "./layout.ts";
import { actionForm, idPattern, parseQuery } from "./request.ts";
import { returnSection } from "./return.ts";
import { spamForm, verdictFacts } from "./submission.ts";
import {
  badge,
  formatBoundedCount,
  type PageClock,
  renderSentence,
  safeText,
  tenantLink,
  timeElement,
} from "./text.ts";
import { notFound } from "./wrong_id.ts";
import { listAudit } from "../../store/operator/audit.ts";
import { readEffects } from "../../store/operator/event_effects.ts";
import { readDuplicates } from "../../store/operator/post_log.ts";
import { readEvents, type StoredEvent } from "../../store/operator/events.ts";
import { auditEntriesMax, nextStep, type Timeline, timelineOf } from "../../store/operator/timeline.ts";

export async function timelinePage(context: Context): Promise<ConsolePage> {
  const { parts, exchange, query, clock } = context;
  parseQuery(query, []);
  const id = exchange.params.event_id ?? "";
  const [event] = idPattern.test(id) ? await readEvents(parts.pool, [id]) : [];
  if (!event) throw notFound("event", id);
  const audit = await listAudit(parts.pool, { subject: id, limit: auditEntriesMax });
  const [effects = []] = await readEffects(parts.pool, [id]);
  const duplicates = await readDuplicates(parts.pool, id);
  const name = event.kind === "lead" ? "Lead" : "Submission";
  return {
    title: `${name} ${event.eventId}`,
    body: markup`<h1>${name} <span class="id">${event.eventId}</span></h1>
${statusBox(event, context)}
${renderSummary(event, context)}
${returnSection(event, context)}
${effectsSection(event, effects, context)}
<h2>Timeline</h2>
${renderTimeline(timelineOf(event, { audit, duplicates, effects }), clock)}
<div class="sides"><section><h2>${name}, normalized</h2>${factList(event.lead)}</section>
<section><h2>Extra</h2>${
      event.lead !== null && event.extra === null
        ? markup`<p class="quiet">No members outside the envelope were sent.</p>`
        : event.extra === null
        ? erasedNote
        : factList(event.extra)
    }<h2>Body as posted</h2>${verbatim(event.raw, "Body as posted")}</section></div>`,
  };
}

/** Renders the state, the next step and its buttons. */
function statusBox(event: StoredEvent, context: Context): Markup {
  const { tokens, clock } = context;
  const { state } = event.delivery;
  const tone = state === "dead" ? "bad" : state === "delivered" ? "good" : "warn";
  return markup`<div class="${tone} message"><p>${badge(state)} ${
    renderSentence(nextStep(event, clock.nowMs), clock)
  }</p>
${
    state === "held" &&
    actionForm(
      { tokens, path: "/held/review", hidden: { page: "lead" } },
      markup`<button class="main" name="release" value="${event.eventId}">Release</button>${
        event.submission?.dismissedAt === null &&
        markup` <button name="dismiss" value="${event.eventId}">Dismiss</button>`
      }`,
    )
  }
${spamForm(event, context)}
${
    state === "dead" &&
    actionForm(
      { tokens, path: "/dead/replay", hidden: { page: "lead" } },
      markup`<button class="main" name="only" value="${event.eventId}">Replay</button>`,
    )
  }</div>`;
}

function renderSummary(event: StoredEvent, { parts, clock }: Context): Markup {
  return markup`<dl class="facts">
<dt>Received</dt><dd>${timeElement(event.receivedAt, clock)}</dd>
<dt>Tenant</dt><dd>${tenantLink(event.tenant)}${
    event.sandbox && markup` <span class="badge">sandbox</span>`
  }${!event.sandbox && !event.hasRoute && markup` <span class="badge bad">no route</span>`}</dd>
<dt>Source</dt><dd>${safeText(event.source)}, key ${event.keyId} (ends in <code>${event.last4}</code>)${
    event.keyRevokedAt !== null && markup`, revoked ${timeElement(event.keyRevokedAt, clock)}`
  }</dd>
<dt>Idempotency-Key</dt><dd>${
    event.idempotencyKey !== null
      ? safeText(event.idempotencyKey)
      : /k/i.test(event.dedupeSpace)
      ? "erased; its digest remains, so a late retry is still a duplicate"
      : "none; duplicates are detected by content"
  }</dd>
<dt>X-Request-Id</dt><dd>${event.requestId === null ? "erased" : safeText(event.requestId)}</dd>
${verdictFacts(event, parts)}
</dl>`;
}

function renderTimeline({ entries, omitted }: Timeline, clock: PageClock): Markup {
  return markup`<ol class="timeline">${
    entries.map(({ at, tone, title, text }, index) =>
      markup`<li${tone !== null && markup` class="${tone}"`}><strong>${
        renderSentence(title, clock)
      }</strong> <span class="quiet">${timeElement(at, clock)}</span>${
        text.length > 0 && markup`<br>${renderSentence(text, clock)}`
      }</li>
${
        index === 0 && omitted.count > 0 &&
        markup`<li class="quiet">${formatBoundedCount(omitted)} older ${
          omitted.count === 1 ? "entry" : "entries"
        } left out</li>\n`
      }`
    )
  }</ol>`;
}
