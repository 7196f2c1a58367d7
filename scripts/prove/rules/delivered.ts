/**
 * Rules about deliveries.
 *
 * @module
 */

import type { Delivery, History, PerformedStep, StoredAttempt, StoredEvent } from "../history.ts";
import { mostSpecific, pathOf } from "../model.ts";
import {
  byId,
  databaseTime,
  differences,
  disruptions,
  isAccepted,
  overlapsAny,
  type Rules,
  seconds,
  type Span,
  wasResponsive,
} from "./rule.ts";

/** Whether an event must be delivered, because it is not held. */
const isDue = ({ verdict }: StoredEvent) => verdict === null || verdict === "clean";
const sandboxesIn = ({ tenants }: History) =>
  new Set(tenants.filter(({ sandbox }) => sandbox).map(({ slug }) => slug));
/** Returns an identifier for an event on one of its routes. */
const atRoute = ({ eventId, route }: Pick<Delivery, "eventId" | "route">) => `${eventId} ${route}`;

/** Returns the paths of an event's routes. */
function routesOf({ tables }: History, event: StoredEvent, labels: ReadonlyMap<number, string>): string[] {
  const own = tables.routes.filter(({ tenant }) => tenant === event.tenant);
  const scope = { source: labels.get(event.keyId), form: event.form ?? "" };
  return mostSpecific(own, scope).map(({ address }) => pathOf(address));
}

/** Returns a message for each effect that differs from its recipient's responses. */
function effectDifferences({ tables, deliveries }: History): string[] {
  const accepted = Map.groupBy(deliveries.filter(isAccepted), atRoute);
  return tables.effects.flatMap(({ eventId, address, isDone, status }) => {
    const place = atRoute({ eventId, route: pathOf(address) });
    if (!isDone) return [`the effect of ${place} is not done`];
    const responseStatus = accepted.get(place)?.map((one) => one.responseStatus);
    return responseStatus?.includes(status)
      ? []
      : [`the effect of ${place} is done with status ${status}, expected ${responseStatus ?? "a delivery"}`];
  });
}

/** Returns the attempt number in a request to the tier. */
const numberIn = (body: string) => /"attempt":(\d+),/.exec(body)?.[1];

/** How long a fault can still cause a repeat: a lease plus a margin for a busy machine. */
const leaseMs = ({ limits }: History) => limits.claimMs + 2_000;
const recordMs = 500;
/** The maximum time between an effect and its claim or record, on a busy machine. */
const recordMarginMs = 2_500;
// The tier's Retry-After with 424.
const retryAfterMs = 2_000;

export const deliveryRules: Rules = {
  /** SPEC, What the service does: after all faults, each stored event has been delivered on all of its routes. */
  delivered: (history) => {
    const { tables, undelivered, hasActions } = history;
    const accepted = new Set(history.deliveries.filter(isAccepted).map(atRoute));
    const labels = new Map(history.keys.map(({ id, label }) => [id, label]));
    const recorded = new Set(
      tables.attempts.filter(({ outcome }) => outcome === "delivered").map(({ eventId }) => eventId),
    );
    const sandboxes = sandboxesIn(history);
    const missing = tables.events.filter(isDue).flatMap((event) => {
      const { eventId, tenant } = event;
      // The actions tier accepts a sandbox's leads and sends them to nobody.
      const places = !hasActions ? [null] : sandboxes.has(tenant) ? [] : routesOf(history, event, labels);
      const found = places.filter((route) => !accepted.has(atRoute({ eventId, route })))
        .map((route) => `${eventId} of ${tenant} was not delivered to ${route ?? "the tier"}`);
      return recorded.has(eventId)
        ? found
        : [...found, `${eventId} has no attempt with the outcome delivered`];
    });
    return undelivered === null ? missing : [`still pending: ${undelivered}`, ...missing];
  },

  /** Each delivery has the stored event's content, the same each time. Held events and sandbox leads never reach a CRM. */
  payload: (history) => {
    const events = byId(history);
    const labels = new Map(history.keys.map(({ id, label }) => [id, label]));
    const sandboxes = sandboxesIn(history);
    const first = new Map<string, string>();
    return history.deliveries.flatMap((one) => {
      const event = events.get(one.eventId);
      if (event === undefined) return [`${one.eventId} was delivered, but is not stored`];
      const found = one.receiver === "chat"
        ? nameDifference(one, event)
        : one.receiver === "mail"
        ? [...nameDifference(one, event), ...replyToDifference(one, event)]
        : payloadDifferences(one, event, labels.get(event.keyId));
      if (one.receiver !== "tier" && !routesOf(history, event, labels).includes(one.route ?? "")) {
        found.push(`${one.eventId} was delivered to ${one.route}, which is not its route`);
      }
      if (!isDue(event)) found.push(`${one.eventId} is held (${event.verdict}), but was delivered`);
      if (one.receiver !== "tier" && sandboxes.has(event.tenant)) {
        found.push(`${one.eventId} from a sandbox was delivered to ${one.route}`);
      }
      // Repeats differ only in the attempt number and in the note on earlier posts, which each attempt looks up. An email may
      // differ, except for the Message-ID that identifies repeats.
      const timeless = one.receiver === "mail"
        ? /^Message-ID: .*/im.exec(one.body)?.[0] ?? ""
        : one.body.replace(/"attempt":\d+,/, "").replace(/\\nAlso received .*? \(same phone number\)/, "");
      const before = first.get(atRoute(one)) ?? timeless;
      first.set(atRoute(one), before);
      return before === timeless
        ? found
        : [...found, `${one.eventId} was delivered again with other content`];
    });
  },

  /** DECISIONS, Delivery: an event that the tier accepted is sent again only after a fault. */
  repeats: (history) => {
    // A busy process may treat a late response as missing.
    const late = new Set(
      history.tables.attempts
        .filter(({ outcome, durationMs }) =>
          outcome === "unreachable" && (durationMs ?? 0) >= history.limits.sendMs * 0.9
        )
        .map(({ eventId, number }) => `${eventId} ${number}`),
    );
    return repeated(history, ["tier"], {
      causes: disruptions(history).filter(canCauseRepeat),
      isLate: ({ eventId, body }) => late.has(`${eventId} ${numberIn(body)}`),
      within: (accepted, again) => ({
        fromMs: accepted.atMs - recordMs - leaseMs(history),
        toMs: again.atMs,
      }),
    });
  },

  /** Each effect is done once and with its recipient's status, unless a fault prevented recording it. */
  effects: (history) => {
    // The reason shows that a response was too late for a busy process.
    const late = Map.groupBy(
      history.tables.attempts.filter(({ reason }) => /time(?:d)?out/i.test(reason ?? "")),
      ({ eventId }) => eventId,
    );
    const found = repeated(history, ["customer", "chat", "mail"], {
      causes: history.performed.filter(({ kind }) => /^(actions|downstream|day_passes)/.test(kind)).map((
        one,
      ) =>
        // A clock step ends the claims of sends in flight.
        one.kind === "day_passes" ? { ...one, toMs: one.toMs + history.limits.sendMs } : one
      ),
      isLate: ({ eventId, atMs }) =>
        (late.get(eventId) ?? []).some((attempt) => {
          const afterMs = databaseTime(history, atMs) - attempt.atMs;
          return afterMs > -recordMarginMs && afterMs < (attempt.durationMs ?? 0) + recordMarginMs;
        }),
      within: ({ atMs }) => ({ fromMs: atMs - recordMarginMs, toMs: atMs + recordMarginMs }),
    });
    return history.undelivered === null ? [...found, ...effectDifferences(history)] : found;
  },

  /** DECISIONS, Delivery: every attempt leaves a row, numbered without gaps; a dead event has spent all of its attempts. */
  attempts: (history) => {
    const found: string[] = [];
    const known = new Set<string>();
    const replayed = new Set(history.replayed.map(({ eventId }) => eventId));
    for (const [eventId, all] of Map.groupBy(history.tables.attempts, ({ eventId }) => eventId)) {
      all.forEach(({ number }, index) => {
        known.add(`${eventId} ${number}`);
        if (number !== index + 1) found.push(`${eventId}: attempt ${number} follows a gap`);
      });
      found.push(...scheduleErrors(all, history, replayed.has(eventId)));
    }
    const seen = new Set<string>();
    const downs = history.performed.filter(({ kind }) => kind === "downstream_down");
    const sent = new Set(history.deliveries.map(({ eventId, body }) => `${eventId} ${numberIn(body)}`));
    for (
      const { eventId, number, atMs, outcome, spent } of history.hasActions ? [] : history.tables.attempts
    ) {
      // An unsent request spends no attempt, except perhaps when the tier stops listening.
      const isUnsent = outcome === "unreachable" && spent && !sent.has(`${eventId} ${number}`);
      if (
        isUnsent &&
        !downs.some(({ fromMs }) => Math.abs(databaseTime(history, fromMs) - atMs) < leaseMs(history) / 3)
      ) {
        found.push(`${eventId}: attempt ${number} was spent, but did not reach the tier`);
      }
    }
    for (const { eventId, body } of history.hasActions ? [] : history.deliveries) {
      const attempt = `${eventId} ${numberIn(body)}`;
      if (seen.has(attempt)) found.push(`the tier received attempt ${attempt} twice`);
      if (!known.has(attempt)) found.push(`the tier received attempt ${attempt}, which has no row`);
      seen.add(attempt);
    }
    const replays = new Set<string>();
    for (const { eventId, spent, reason } of history.replayed) {
      // A replayed event is dead again after its next refusal.
      if (!replays.has(eventId) && spent !== history.attemptsMax) {
        found.push(
          `${eventId} was dead after ${spent} attempts (${reason}), expected ${history.attemptsMax}`,
        );
      }
      replays.add(eventId);
    }
    return found;
  },
};

/** DECISIONS, Delivery: after a refusal, an event waits for its backoff; a 503 spends no attempt. */
function scheduleErrors(all: readonly StoredAttempt[], history: History, isReplayed: boolean): string[] {
  const stepsMs = history.clockSteps.map(({ toMs }) => databaseTime(history, toMs));
  return all.flatMap(({ eventId, number, atMs, durationMs, outcome, status, spent }, index) => {
    const [next] = all.slice(index + 1);
    // A clock step ends leases, so that an attempt may be settled after the next one has been claimed.
    const isNearClockStep = next !== undefined &&
      stepsMs.some((stepMs) => Math.abs(next.atMs - stepMs) < leaseMs(history));
    // An attempt whose lease expired is lost and stays spent, and the next one does not wait for its response. If it is
    // recorded late, its time is that of the record less its duration.
    const isReclaimed = next !== undefined &&
      // The clock may have been set back in between.
      (Math.abs(next.atMs - atMs) >= history.limits.claimMs || atMs + (durationMs ?? 0) >= next.atMs);
    const isSpentCorrect = outcome === "refused" || outcome === "lost"
      ? spent
      : status !== 503 || !spent || isReclaimed || isNearClockStep;
    if (!isSpentCorrect) {
      return [`${eventId}: attempt ${number} (${outcome}, ${status}) has a wrong spent, ${spent}`];
    }
    if (next === undefined || isReclaimed || isNearClockStep || outcome !== "refused" || isReplayed) {
      return [];
    }
    const times = all.slice(0, index + 1).filter((one) => one.spent).length;
    const backoffMs = Math.min(1_000, 100 * 3 ** (times - 1)) / 2;
    const leastMs = Math.max(backoffMs, status === 424 && !history.hasActions ? retryAfterMs : 0);
    const waitedMs = next.atMs - atMs - (durationMs ?? 0);
    // Stored times are rounded to milliseconds.
    return waitedMs >= 0 && waitedMs < leastMs - 2
      ? [
        `${eventId}: attempt ${next.number} came ${waitedMs} ms after a refusal, expected ${leastMs} or more`,
      ]
      : [];
  });
}

function payloadDifferences(one: Delivery, event: StoredEvent, source: string | undefined): string[] {
  try {
    const outer = JSON.parse(one.body);
    const sent = one.receiver === "tier" ? outer : outer.data;
    const content = sent[event.kind === "lead" ? "lead" : "submission"];
    const pairs: Readonly<Record<string, readonly [unknown, unknown]>> = {
      event_id: [sent.event_id, event.eventId],
      tenant: [sent.tenant, event.tenant],
      source: [sent.source, source],
      kind: one.receiver === "tier"
        ? [sent.kind, event.kind]
        : [outer.type, event.kind === "lead" ? "lead.accepted" : "form.submitted"],
      signature: [one.isSigned, true],
      route_tenant: [one.tenant, event.tenant],
      received_at: [Math.round(Date.parse(sent.received_at)), Math.floor(event.receivedAtMs)],
      flags: [sent.flags, event.flags],
      content: [content, JSON.parse(event.lead)],
      extra: [one.body.includes(`"extra":${event.extra ?? "{}"},`), true],
    };
    return differences(pairs).map((text) => `the payload of ${event.eventId}: ${text}`);
  } catch (error) {
    return [`the payload of ${event.eventId} is invalid: ${(error as Error).name}`];
  }
}

/** A message names the person; an email breaks its lines after an equals sign. */
function nameDifference({ body, eventId, route }: Delivery, { lastName }: StoredEvent): string[] {
  const text = body.replaceAll("=\r\n", "").toLowerCase();
  return lastName === null || text.includes(lastName)
    ? []
    : [`the message for ${eventId} to ${route} does not name the person`];
}

/** `Reply-To` is the submitted email address, unless its shape is suspect. */
function replyToDifference({ body, eventId }: Delivery, { email, flags }: StoredEvent): string[] {
  const wanted = flags.includes("email_shape_suspect") ? null : email;
  const [, replyTo = null] = /^Reply-To: <?([^>\r]*)/im.exec(body) ?? [];
  return replyTo === wanted ? [] : [`the email for ${eventId} has Reply-To ${replyTo}, expected ${wanted}`];
}

interface RepeatExcuses {
  readonly causes: readonly PerformedStep[];
  readonly isLate: (accepted: Delivery) => boolean;
  readonly within: (accepted: Delivery, again: Delivery) => Span;
}

/** Returns a message for each event that was delivered again after it was accepted, without an excuse. */
function repeated(
  history: History,
  at: readonly Delivery["receiver"][],
  { causes, isLate, within }: RepeatExcuses,
): string[] {
  const byPlace = Map.groupBy(history.deliveries.filter((one) => at.includes(one.receiver)), atRoute);
  return [...byPlace.values()].flatMap((all) => {
    const first = all.findIndex(isAccepted);
    const [accepted, again] = first < 0 ? [] : all.slice(first);
    if (accepted === undefined || again === undefined) return [];
    const span = within(accepted, again);
    if (isLate(accepted) || overlapsAny(causes, span)) return [];
    if (!wasResponsive(history, { fromMs: accepted.atMs - recordMs, toMs: span.toMs })) return [];
    const { eventId, atMs } = accepted;
    return [`${eventId} was accepted at ${seconds(atMs)} and sent again at ${seconds(again.atMs)}`];
  });
}

/** Whether a step excuses a repeat. Faults inside a commit and short terminations of backends do not. */
function canCauseRepeat({ kind, fromMs, toMs }: PerformedStep): boolean {
  if (/^(cut|freeze)_(before|inside|during|after)/.test(kind)) return false;
  return kind !== "backends_terminate" || toMs - fromMs > 1_500;
}
