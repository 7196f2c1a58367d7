/** One lead or submission, from its post to its effect. */

import { type Markup, markup } from "../../http/markup.ts";
import { deedOf } from "./audit.ts";
import { erased, facts, verbatim } from "./content.ts";
import type { ConsoleParts, Context } from "./context.ts";
import { reasons } from "./held.ts";
import { type ConsolePage, RefusedPage } from "./layout.ts";
import { actionForm, idShape, type NoteCode, parseQuery, queryOf, readForm, withNote } from "./request.ts";
import {
  badge,
  badges,
  count,
  counted,
  duration,
  type PageClock,
  reasonText,
  shortened,
  shown,
  time,
} from "./text.ts";
import { type AuditEntry, listAudit } from "../../store/operator/audit.ts";
import { effectName, readEffects, sendAgain, type ShownEffect } from "../../store/operator/event_effects.ts";
import { markSpam, type SpamMark } from "../../store/operator/held.ts";
import { type Attempt, readEvents, type StoredEvent } from "../../store/operator/events.ts";

/** Something that has happened to an event. */
interface Moment {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly tone: "good" | "warn" | "bad" | null;
  readonly title: Markup;
  readonly text: Markup | null;
}

/** All that has happened to an event, the earliest first. */
function momentsOf(event: StoredEvent, audit: readonly AuditEntry[], clock: PageClock): Moment[] {
  const { delivery } = event;
  const moments = [
    received(event),
    ...delivery.attempts.map((attempt) => attempted(attempt, event, clock)),
    ...event.collisions.map(collided),
    ...audit.map(noted),
    ...(delivery.state === "dead" ? [died(delivery.diedAt, delivery.reason)] : []),
    ...removed(event),
    ...delivered(event),
  ];
  // What has one time stays in this order.
  return moments.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function collided(one: StoredEvent["collisions"][number]): Moment {
  const { acceptedEventId: own } = one;
  return {
    at: one.firstAt,
    tone: "warn",
    title: markup`Another lead arrived under its Idempotency-Key`,
    text: markup`It was kept aside${
      one.count > 1 && `, posted ${counted(one.count, "time")}`
    }: <a href="/collisions/${one.id}">compare the two</a>${
      own !== null && markup`; it is now a separate event, <a class="id" href="/leads/${own}">${own}</a>`
    }`,
  };
}

function received(event: StoredEvent): Moment {
  const { acceptedFrom, found } = event;
  return {
    at: event.receivedAt,
    tone: "good",
    title: markup`${acceptedFrom === null ? "Received and committed" : "Accepted by an operator"}`,
    text: markup`From ${shown(event.source)} with key ${event.keyId}; ${
      acceptedFrom !== null
        ? markup`it was kept aside before as <a href="/collisions/${acceptedFrom.collision}">collision ${acceptedFrom.collision}</a>,
under the Idempotency-Key of <a class="id" href="/leads/${acceptedFrom.eventId}">${acceptedFrom.eventId}</a>.`
        : markup`${
          found === null || found.verdict === "clean"
            ? "event and delivery record in one transaction."
            : markup`held back as <strong>${found.verdict}</strong>, without a delivery record.`
        } Only then did the caller receive <code>accepted</code>.`
    }${event.flags.length > 0 && markup` ${counted(event.flags.length, "flag")}.`}`,
  };
}

const outcomes: Readonly<Record<Attempt["outcome"], { tone: Moment["tone"]; text: string }>> = {
  delivered: { tone: "good", text: "the actions tier performed every effect" },
  refused: { tone: "bad", text: "the actions tier refused it" },
  unreachable: { tone: "warn", text: "no answer from the actions tier" },
  lost: { tone: "warn", text: "the delivering process died; found when its lease expired" },
};

function attempted(attempt: Attempt, event: StoredEvent, clock: PageClock): Moment {
  const { tone, text } = outcomes[attempt.outcome];
  const isLast = attempt.number === event.delivery.attempts.at(-1)?.number;
  const { delivery } = event;
  return {
    at: attempt.at,
    tone,
    title: markup`Attempt ${attempt.number}: ${attempt.outcome}`,
    text: markup`${text}${attempt.status !== null && markup`, status <strong>${attempt.status}</strong>`}${
      attempt.reason !== null && markup`, ${reasonText(attempt.reason)}`
    }${attempt.durationMs !== null && `, in ${duration(attempt.durationMs)}`}${
      !attempt.spent && attempt.outcome !== "delivered" && "; it does not count as an attempt"
    }${isLast && delivery.state === "pending" && markup`; next attempt ${time(delivery.dueAt, clock)}`}`,
  };
}

function died(at: string, reason: string | null): Moment {
  return {
    at,
    tone: "bad",
    title: markup`Given up`,
    text: markup`It is a dead letter${
      reason !== null && markup`: ${reasonText(reason)}`
    }. Its content is kept.`,
  };
}

function removed({ removed: one }: StoredEvent): Moment[] {
  if (one === null) return [];
  const isErasure = one.by === "erasure";
  return [{
    at: one.at,
    tone: null,
    title: markup`${isErasure ? "Erased at the person's request" : "Removed at the end of its retention"}`,
    text: markup`Its content is gone; the id, the time and the Idempotency-Key's digest are kept.`,
  }];
}

function noted(entry: AuditEntry): Moment {
  return {
    at: entry.at,
    tone: null,
    title: deedOf(entry),
    text: markup`By ${shown(entry.actor)}${
      entry.claimed !== null && markup` (says: ${shown(entry.claimed)})`
    }`,
  };
}

/** A sandbox tenant's lead is delivered without an effect, so nothing else would say so. */
function delivered({ delivery, sandbox, receivedAt }: StoredEvent): Moment[] {
  if (delivery.state !== "delivered" || !sandbox) return [];
  const at = delivery.attempts.at(-1)?.at ?? receivedAt;
  return [{ at, tone: "good", title: markup`No effect: this is a sandbox lead`, text: null }];
}

/** What is to be expected, or done, now. */
function whatNext({ delivery, tenant, sandbox, hasRoute }: StoredEvent, clock: PageClock): Markup {
  switch (delivery.state) {
    case "pending":
      if (!sandbox && !hasRoute) {
        return markup`It is waiting: the tenant has <strong>no route</strong>. Add one with <code>ctl tenant route ${tenant} …</code>; it is then sent immediately.`;
      }
      return markup`${Date.parse(delivery.dueAt) > clock.nowMs ? "Next attempt" : "Due since"} ${
        time(delivery.dueAt, clock)
      }${delivery.reason !== null && markup`: ${reasonText(delivery.reason)}`}`;
    case "sending":
      return markup`An attempt is in progress; its lease ends ${time(delivery.leaseUntil, clock)}.`;
    case "held":
      return markup`It is held as spam and is delivered only if you release it.`;
    case "erased":
      return markup`Its content was erased before it was delivered; nothing is sent any more.`;
    case "delivered": {
      const last = delivery.attempts.at(-1);
      return last === undefined
        ? markup`Delivered to the actions tier.`
        : markup`Delivered to the actions tier ${time(last.at, clock)}, after ${
          counted(delivery.attempts.length, "attempt")
        }.`;
    }
    case "dead":
      return markup`Given up ${time(delivery.diedAt, clock)}${
        delivery.reason !== null && markup`: ${reasonText(delivery.reason)}`
      }. Repair the cause, then replay it: it is tried once more at once.`;
  }
}

const path = "/leads/send-again";

/** The list, and below it the buttons for a delivered event; nothing where there is none. */
function effectsSection(
  event: StoredEvent,
  effects: readonly ShownEffect[],
  { tokens, clock }: Context,
): Markup {
  if (effects.length === 0) return markup``;
  const kinds = [...new Set(effects.map(({ effect }) => effect))];
  const isDelivered = event.delivery.state === "delivered" && event.lead !== null;
  return markup`<h2>Effects</h2>
<ul class="effects">${effects.map((effect) => markup`<li>${line(effect, clock)}</li>\n`)}</ul>
${
    isDelivered && markup`<details class="ask"><summary>Send again…</summary>
<p>Send it once more to ${
      effects.map(({ effect, target }, index) =>
        markup`${index > 0 && ", "}${effectName(effect)}${target !== null && markup` ${shown(target)}`}`
      )
    }? The customer gets it twice, under the same event id.</p>
${
      actionForm(
        {
          ...{ tokens, path, className: "row" },
          hidden: { only: event.eventId, seen: event.delivery.attempts.at(-1)?.number ?? 0 },
        },
        markup`<button name="effect" value="all">Yes, send it to all</button>
${
          kinds.length > 1 &&
          kinds.map((kind) =>
            markup`<button name="effect" value="${kind}">Only to ${effectName(kind)}</button> `
          )
        }`,
      )
    }</details>`
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
    throw new RefusedPage(400, "This is not an event id", markup`<p>Nothing was changed.</p>`);
  }
  const sent = await sendAgain(parts.pool, {
    eventId,
    effect: effect === "all" ? null : effect,
    seen: Number(seen),
    address: exchange.clientAddress,
  });
  return withNote(`/leads/${eventId}`, { tokens, code: noteCodes[sent] });
}

const spamPath = "/leads/mark-spam";

const markNotes: Readonly<Record<SpamMark, NoteCode>> = {
  marked: "spam_marked",
  already: "spam_marked",
  held: "again_held",
  erased: "again_erased",
  unknown: "again_erased",
};

/** `POST /leads/mark-spam`: reports a delivered submission as spam, or takes that back. */
export async function markSpamAction({ parts, tokens, exchange }: Context): Promise<string> {
  const form = await readForm(exchange, { tokens, path: spamPath, names: ["only", "is_spam"] });
  const eventId = form.shaped("only", idShape);
  const isSpam = form.word("is_spam", ["yes", "no"]);
  if (eventId === null || isSpam === null) {
    throw new RefusedPage(400, "This is not an event id", markup`<p>Nothing was changed.</p>`);
  }
  const mark = await markSpam(parts.pool, eventId, {
    isSpam: isSpam === "yes",
    address: exchange.clientAddress,
  });
  return withNote(`/leads/${eventId}`, { tokens, code: markNotes[mark] });
}

const auditMax = 100;

/** `/leads/{event_id}` */
export async function timelinePage(context: Context): Promise<ConsolePage> {
  const { parts, exchange, query, clock } = context;
  parseQuery(query, []);
  const id = exchange.params.event_id ?? "";
  const [event] = idShape.test(id) ? await readEvents(parts.pool, [id]) : [];
  if (!event) {
    throw new RefusedPage(
      404,
      "There is no such event",
      markup`<p>Look for it among the <a href="/leads">leads and submissions</a>; an id is copied whole, such as from the
caller's log.</p>`,
    );
  }
  const audit = await listAudit(parts.pool, { subject: id, limit: auditMax });
  const [effects = []] = await readEffects(parts.pool, [id]);
  const name = event.kind === "lead" ? "Lead" : "Submission";
  return {
    title: `${name} ${event.eventId}`,
    body: markup`<h1>${name} <span class="id">${event.eventId}</span></h1>
${standing(event, context)}
${heading(event, context)}
${effectsSection(event, effects, context)}
<h2>From post to effect</h2>
${story(momentsOf(event, audit, clock), clock)}
<div class="sides"><section><h2>${name}, normalized</h2>${facts(event.lead)}</section>
<section><h2>Extra</h2>${
      event.lead !== null && event.extra === null
        ? markup`<p class="quiet">Nothing was sent outside the envelope.</p>`
        : event.extra === null
        ? erased
        : facts(event.extra)
    }<h2>Body as posted</h2>${verbatim(event.raw, "Body as posted")}</section></div>`,
  };
}

/** Where it stands now, what comes next, and the button for it. */
function standing(event: StoredEvent, { tokens, clock }: Context): Markup {
  const { state } = event.delivery;
  const tone = state === "dead" ? "bad" : state === "delivered" ? "good" : "warn";
  return markup`<div class="${tone} message"><p>${badge(state)} ${whatNext(event, clock)}</p>
${
    state === "held" &&
    actionForm(
      { tokens, path: "/held/review", hidden: { page: "lead" } },
      markup`<button class="main" name="release" value="${event.eventId}">Release</button>${
        event.found?.dismissedAt === null &&
        markup` <button name="dismiss" value="${event.eventId}">Dismiss</button>`
      }`,
    )
  }
${
    state !== "held" && event.found !== null && event.lead !== null &&
    actionForm(
      { tokens, path: spamPath, hidden: { only: event.eventId } },
      event.found.label === "spam"
        ? markup`You reported it as spam. <button name="is_spam" value="no">It is not spam</button>`
        : markup`<button name="is_spam" value="yes">This was spam</button>`,
    )
  }
${
    state === "dead" &&
    actionForm(
      { tokens, path: "/dead/replay", hidden: { page: "lead" } },
      markup`<button class="main" name="only" value="${event.eventId}">Replay</button>`,
    )
  }</div>`;
}

function heading(event: StoredEvent, { parts, clock }: Context): Markup {
  const { found } = event;
  return markup`<dl class="facts">
<dt>Received</dt><dd>${time(event.receivedAt, clock)}</dd>
<dt>Tenant</dt><dd><a href="/leads${queryOf({ tenant: event.tenant })}">${event.tenant}</a>${
    event.sandbox && markup` <span class="badge">sandbox</span>`
  }${!event.sandbox && !event.hasRoute && markup` <span class="badge bad">no route</span>`}</dd>
<dt>Source</dt><dd>${shown(event.source)}, key ${event.keyId} (ends in <code>${event.last4}</code>)${
    event.keyRevokedAt !== null && markup`, revoked ${time(event.keyRevokedAt, clock)}`
  }</dd>
<dt>Idempotency-Key</dt><dd>${
    event.idempotencyKey !== null
      ? shown(event.idempotencyKey)
      : /k/i.test(event.dedupeSpace)
      ? "erased; its digest is kept, so that a late retry is still a duplicate"
      : "none: repeats are found by content"
  }</dd>
${
    found === null
      ? markup`<dt>Flags</dt><dd>${badges(event.flags)}</dd>`
      : markup`<dt>Form</dt><dd>${shown(found.formKey)}</dd>
${event.flags.length > 0 && markup`<dt>Flags</dt><dd>${badges(event.flags)}</dd>`}
<dt>Verdict</dt><dd>${badge(found.verdict)} score ${count(found.score)}</dd>
<dt>Reasons</dt><dd>${reasons(found.reasons, parts)}</dd>
${event.lead !== null && found.score > 0 && weighedMost({ ...event, lead: event.lead }, parts)}`
  }
</dl>`;
}

/** What speaks for spam in the text as it is stored, by today's filter. */
function weighedMost(
  stored: { readonly lead: string; readonly receivedAt: string },
  parts: ConsoleParts,
): Markup {
  const shares = parts.explainSpam(stored);
  if (shares.length === 0) return markup``;
  return markup`<dt>Weighed most</dt><dd><ul class="reasons">${
    shares.map((share) =>
      markup`<li>${
        "words" in share
          ? markup`“${shortened(share.words, 80)}”`
          : parts.spamMeanings[share.reason] ?? shown(share.reason)
      } <span class="quiet">${share.percent} %</span></li>`
    )
  }</ul></dd>`;
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
