/** `/leads/{event_id}`: the timeline of a lead or submission, from its post to its effects. */

import { type Markup, markup } from "../../http/markup.ts";
import { describeAction } from "./audit.ts";
import { erasedNote, factList, verbatim } from "./content.ts";
import type { ConsoleParts, Context } from "./context.ts";
import { dryRunButton } from "./dry_run.ts";
import { reasonList } from "./held.ts";
import { type ConsolePage, RefusedPage } from "./layout.ts";
import { returnSection } from "./return.ts";
import { actionForm, idPattern, type NoteCode, parseQuery, readForm, withNote } from "./request.ts";
import {
  badge,
  badges,
  eventLink,
  formatCount,
  formatMs,
  type PageClock,
  pluralize,
  reasonText,
  safeText,
  tenantLink,
  timeElement,
  truncated,
} from "./text.ts";
import { notFound } from "./wrong_id.ts";
import { type AuditEntry, listAudit } from "../../store/operator/audit.ts";
import { effectName, readEffects, sendAgain, type ShownEffect } from "../../store/operator/event_effects.ts";
import { markSpam, type SpamMark } from "../../store/operator/held.ts";
import { type DuplicatePost, duplicateText, readDuplicates } from "../../store/operator/post_log.ts";
import { type Attempt, readEvents, shownStatus, type StoredEvent } from "../../store/operator/events.ts";

interface TimelineEntry {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly tone: "good" | "warn" | "bad" | null;
  readonly title: Markup;
  readonly text: Markup | null;
}

/** Returns the entries for an event's timeline, earliest first. */
function timelineEntries(
  event: StoredEvent,
  { audit, duplicates }: {
    readonly audit: readonly AuditEntry[];
    readonly duplicates: readonly DuplicatePost[];
  },
  clock: PageClock,
): TimelineEntry[] {
  const { delivery } = event;
  const entries = [
    receivedEntry(event),
    ...delivery.attempts.map((attempt) => attemptEntry(attempt, event, clock)),
    ...event.collisions.map(collisionEntry),
    ...duplicates.map((post) => duplicateEntry(post, event)),
    ...audit.map(auditTimelineEntry),
    ...(delivery.state === "dead" ? [deadEntry(delivery.diedAt, delivery.reason)] : []),
    ...removalEntries(event),
    ...sandboxEntries(event),
  ];
  // The sort is stable: entries with the same time stay in this order.
  return entries.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function collisionEntry(collision: StoredEvent["collisions"][number]): TimelineEntry {
  const { acceptedEventId } = collision;
  return {
    at: collision.firstAt,
    tone: "warn",
    title: markup`Another lead was posted with the same Idempotency-Key`,
    text: markup`It was set aside${
      collision.count > 1 && `, posted ${pluralize(collision.count, "time")}`
    }: <a href="/collisions/${collision.id}">compare the two</a>${
      acceptedEventId !== null &&
      markup`; it is now a separate event, ${eventLink(acceptedEventId, "whole")}`
    }`,
  };
}

function duplicateEntry(post: DuplicatePost, event: StoredEvent): TimelineEntry {
  return {
    at: post.at,
    tone: null,
    title: markup`Duplicate`,
    text: markup`${safeText(duplicateText(post, event))}; the caller received this event's id`,
  };
}

function receivedEntry(event: StoredEvent): TimelineEntry {
  const { acceptedFrom, submission } = event;
  return {
    at: event.receivedAt,
    tone: "good",
    title: markup`${acceptedFrom === null ? "Received and committed" : "Accepted by an operator"}`,
    text: markup`From ${safeText(event.source)} with key ${event.keyId}; ${
      acceptedFrom !== null
        ? markup`it was previously set aside as <a href="/collisions/${acceptedFrom.collision}">collision ${acceptedFrom.collision}</a>,
under the Idempotency-Key of ${eventLink(acceptedFrom.eventId, "whole")}.`
        : markup`${
          submission === null || submission.verdict === "clean"
            ? "event and delivery record were stored in one transaction."
            : markup`it was held as <strong>${submission.verdict}</strong>, without a delivery record.`
        } Only then did the caller receive <code>accepted</code>.`
    }${event.flags.length > 0 && markup` ${pluralize(event.flags.length, "flag")}.`}`,
  };
}

const outcomeTexts: Readonly<Record<Attempt["outcome"], { tone: TimelineEntry["tone"]; text: string }>> = {
  delivered: { tone: "good", text: "the actions tier performed every effect" },
  refused: { tone: "bad", text: "the actions tier refused it" },
  unreachable: { tone: "warn", text: "no response from the actions tier" },
  lost: { tone: "warn", text: "the delivering process died, and its lease expired" },
};

function attemptEntry(attempt: Attempt, event: StoredEvent, clock: PageClock): TimelineEntry {
  const { tone, text } = outcomeTexts[attempt.outcome];
  const isLast = attempt.number === event.delivery.attempts.at(-1)?.number;
  const { delivery } = event;
  const status = shownStatus(attempt);
  return {
    at: attempt.at,
    tone,
    title: markup`Attempt ${attempt.number}: ${attempt.outcome}`,
    text: markup`${text}${status !== null && markup`, status <strong>${status}</strong>`}${
      attempt.reason !== null && markup`, ${reasonText(attempt.reason)}`
    }${attempt.durationMs !== null && `, in ${formatMs(attempt.durationMs)}`}${
      !attempt.spent && attempt.outcome !== "delivered" && "; it does not count as an attempt"
    }${
      isLast && delivery.state === "pending" && markup`; next attempt ${timeElement(delivery.dueAt, clock)}`
    }`,
  };
}

function deadEntry(at: string, reason: string | null): TimelineEntry {
  return {
    at,
    tone: "bad",
    title: markup`Delivery failed`,
    text: markup`It is a dead letter${
      reason !== null && markup`: ${reasonText(reason)}`
    }. Its content remains stored.`,
  };
}

function removalEntries({ removed: removal }: StoredEvent): TimelineEntry[] {
  if (removal === null) return [];
  const isErasure = removal.by === "erasure";
  return [{
    at: removal.at,
    tone: null,
    title: markup`${isErasure ? "Erased at the person's request" : "Removed at the end of its retention"}`,
    text: markup`Its content was removed; the id, the time and the digest of the Idempotency-Key remain.`,
  }];
}

function auditTimelineEntry(entry: AuditEntry): TimelineEntry {
  return {
    at: entry.at,
    tone: null,
    title: describeAction(entry),
    text: markup`By ${safeText(entry.actor)}${
      entry.claimed !== null && markup` (claimed: ${safeText(entry.claimed)})`
    }`,
  };
}

/** Explains why a sandbox tenant's delivered event has no effects. */
function sandboxEntries({ delivery, sandbox, receivedAt }: StoredEvent): TimelineEntry[] {
  if (delivery.state !== "delivered" || !sandbox) return [];
  const at = delivery.attempts.at(-1)?.at ?? receivedAt;
  return [{ at, tone: "good", title: markup`No effect: this is a sandbox lead`, text: null }];
}

/** Describes what happens next, or what to do. */
function nextStep({ delivery, tenant, sandbox, hasRoute }: StoredEvent, clock: PageClock): Markup {
  switch (delivery.state) {
    case "pending":
      if (!sandbox && !hasRoute) {
        return markup`It is waiting: the tenant has <strong>no route</strong>. Add one with <code>ctl tenant route ${tenant} …</code>; it is then sent immediately.`;
      }
      return markup`${Date.parse(delivery.dueAt) > clock.nowMs ? "Next attempt" : "Due since"} ${
        timeElement(delivery.dueAt, clock)
      }${delivery.reason !== null && markup`: ${reasonText(delivery.reason)}`}`;
    case "sending":
      return markup`An attempt is in progress; its lease ends ${timeElement(delivery.leaseUntil, clock)}.`;
    case "held":
      return markup`It is held as spam and is delivered only if you release it.`;
    case "erased":
      return markup`Its content was erased before delivery. Nothing is sent.`;
    case "delivered": {
      const last = delivery.attempts.at(-1);
      return last === undefined
        ? markup`Delivered to the actions tier.`
        : markup`Delivered to the actions tier ${timeElement(last.at, clock)}, after ${
          pluralize(delivery.attempts.length, "attempt")
        }.`;
    }
    case "dead":
      return markup`Delivery failed ${timeElement(delivery.diedAt, clock)}${
        delivery.reason !== null && markup`: ${reasonText(delivery.reason)}`
      }. Fix the cause, then replay it: it is sent once more, immediately.`;
  }
}

const sendAgainPath = "/leads/send-again";

/** Lists the effects, with the buttons that send a delivered event again. */
function effectsSection(
  event: StoredEvent,
  effects: readonly ShownEffect[],
  context: Context,
): Markup {
  const { tokens, clock } = context;
  if (effects.length === 0) return markup``;
  const kinds = [...new Set(effects.map(({ effect }) => effect))];
  const isDelivered = event.delivery.state === "delivered" && event.lead !== null;
  return markup`<h2>Effects</h2>
<ul class="effects">${effects.map((effect) => markup`<li>${effectLine(effect, clock)}</li>\n`)}</ul>
${
    isDelivered && markup`<details class="ask"><summary>Send again…</summary>
<p>Send it again to ${
      effects.map(({ effect, target }, index) =>
        markup`${index > 0 && ", "}${effectName(effect)}${target !== null && markup` ${safeText(target)}`}`
      )
    }? The customer receives it twice, under the same event id.</p>
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
  }${event.lead !== null && dryRunButton(context, { tenant: event.tenant, eventId: event.eventId })}`;
}

function effectLine({ effect, target, state, busyUntil, ...last }: ShownEffect, clock: PageClock): Markup {
  const { status, answer, reason, attempts, settledAt } = last;
  // Directly after a badge, a comma would stand apart.
  const comma = status === null && settledAt === null && state !== "busy" ? "" : ",";
  return markup`<strong>${effectName(effect)}</strong>${
    target === null
      ? state === "waiting" ? markup`` : markup` <span class="quiet">(the route has since changed)</span>`
      : markup` to ${safeText(target)}`
  } ${badge(state)}${status !== null && markup` <strong>${status}</strong>`}${
    state === "busy"
      ? markup` until ${timeElement(busyUntil, clock)} at the latest`
      : settledAt !== null && markup` ${timeElement(settledAt, clock)}`
  }${reason !== null && markup`${comma} ${reasonText(reason)}`}${
    attempts > 1 && `, tried ${pluralize(attempts, "time")}`
  }${
    answer !== null && answer !== "" &&
    markup`<br><span class="quiet">Response:</span> <code>${safeText(answer)}</code>`
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
export async function sendAgainAction({ parts, tokens, exchange }: Context): Promise<string> {
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
    address: exchange.clientAddress,
  });
  return withNote(`/leads/${eventId}`, { tokens, code: sendAgainNotes[sent] });
}

const spamPath = "/leads/mark-spam";

const spamMarkNotes: Readonly<Record<SpamMark, NoteCode>> = {
  marked: "spam_marked",
  already: "spam_marked",
  held: "again_held",
  erased: "again_erased",
  unknown: "again_erased",
};

/** `POST /leads/mark-spam`: reports a delivered submission as spam, or withdraws the report. */
export async function markSpamAction({ parts, tokens, exchange }: Context): Promise<string> {
  const form = await readForm(exchange, { tokens, path: spamPath, names: ["only", "is_spam"] });
  const eventId = form.matching("only", idPattern);
  const isSpam = form.oneOf("is_spam", ["yes", "no"]);
  if (eventId === null || isSpam === null) {
    throw new RefusedPage(400, "Not an event id", markup`<p>Nothing was changed.</p>`);
  }
  const mark = await markSpam(parts.pool, eventId, {
    isSpam: isSpam === "yes",
    address: exchange.clientAddress,
  });
  return withNote(`/leads/${eventId}`, { tokens, code: spamMarkNotes[mark] });
}

const auditMax = 100;

export async function timelinePage(context: Context): Promise<ConsolePage> {
  const { parts, exchange, query, clock } = context;
  parseQuery(query, []);
  const id = exchange.params.event_id ?? "";
  const [event] = idPattern.test(id) ? await readEvents(parts.pool, [id]) : [];
  if (!event) throw notFound("event", id);
  const audit = await listAudit(parts.pool, { subject: id, limit: auditMax });
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
${renderTimeline(timelineEntries(event, { audit, duplicates }, clock), clock)}
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
function statusBox(event: StoredEvent, { tokens, clock }: Context): Markup {
  const { state } = event.delivery;
  const tone = state === "dead" ? "bad" : state === "delivered" ? "good" : "warn";
  return markup`<div class="${tone} message"><p>${badge(state)} ${nextStep(event, clock)}</p>
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
${
    state !== "held" && event.submission !== null && event.lead !== null &&
    actionForm(
      { tokens, path: spamPath, hidden: { only: event.eventId } },
      event.submission.label === "spam"
        ? markup`Reported as spam. <button name="is_spam" value="no">Not spam</button>`
        : markup`<button name="is_spam" value="yes">Report as spam</button>`,
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

function renderSummary(event: StoredEvent, { parts, clock }: Context): Markup {
  const { submission } = event;
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
${
    submission === null
      ? markup`<dt>Flags</dt><dd>${badges(event.flags)}</dd>`
      : markup`<dt>Form</dt><dd>${safeText(submission.formKey)}</dd>
${event.flags.length > 0 && markup`<dt>Flags</dt><dd>${badges(event.flags)}</dd>`}
<dt>Verdict</dt><dd>${badge(submission.verdict)} score ${formatCount(submission.score)}</dd>
<dt>Reasons</dt><dd>${reasonList(submission.reasons, parts)}</dd>
${event.lead !== null && submission.score > 0 && renderEvidence({ ...event, lead: event.lead }, parts)}`
  }
</dl>`;
}

/** Renders the main evidence for spam, according to the current model. */
function renderEvidence(
  stored: { readonly lead: string; readonly receivedAt: string },
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

function renderTimeline(entries: readonly TimelineEntry[], clock: PageClock): Markup {
  return markup`<ol class="story">${
    entries.map(({ at, tone, title, text }) =>
      markup`<li${tone !== null && markup` class="${tone}"`}><strong>${title}</strong> <span class="quiet">${
        timeElement(at, clock)
      }</span>${text !== null && markup`<br>${text}`}</li>
`
    )
  }</ol>`;
}
