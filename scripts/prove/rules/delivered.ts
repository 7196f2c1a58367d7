/**
 * What arrived downstream.
 *
 * @module
 */

import type { Arrived, Happened, History, StoredAttempt, StoredEvent } from "../history.ts";
import {
  byId,
  databaseTime,
  differs,
  disturbances,
  isTaken,
  isTouched,
  type Rules,
  seconds,
  type Span,
} from "./rule.ts";

/** Whether an event is to be delivered at all: what is held is not. */
const isDue = ({ verdict }: StoredEvent) => verdict === null || verdict === "clean";
const sandboxes = ({ tenants }: History) =>
  new Set(tenants.filter(({ sandbox }) => sandbox).map(({ slug }) => slug));
/** Which attempt a request says that it is. */
const numberIn = (body: string) => /"attempt":(\d+),/.exec(body)?.[1];

/** A lease and what a busy machine adds: so long a fault may still lead to a repeat. */
const leaseMs = 9_000;
const writtenMs = 500;
// What the tier says with 424.
const retryAfterMs = 2_000;

/** The rules. */
export const deliveryRules: Rules = {
  /** SPEC, What the service does: each stored event arrives and is answered 2xx, once everything is whole again. */
  delivered: (history) => {
    const { tables, undrained, hasActions } = history;
    const taken = new Set(history.arrived.filter(isTaken).map(({ eventId }) => eventId));
    const noted = new Set(
      tables.attempts.filter(({ outcome }) => outcome === "delivered").map(({ eventId }) => eventId),
    );
    const toNobody = sandboxes(history);
    const missing = tables.events.filter(isDue).flatMap(({ eventId, tenant }) => {
      // A sandbox's leads end at the actions tier, which has nowhere to send them.
      if (!taken.has(eventId) && !(hasActions && toNobody.has(tenant))) {
        return [`${eventId} of ${tenant} did not arrive`];
      }
      return noted.has(eventId) ? [] : [`${eventId} has no attempt that delivered it`];
    });
    return undrained === null ? missing : [`it still waits: ${undrained}`, ...missing];
  },

  /** What arrives is what was stored, the same each time, under the event's id and tenant, and never what is held or a sandbox's. */
  payload: (history) => {
    const events = byId(history);
    const labels = new Map(history.keys.map(({ id, label }) => [id, label]));
    const stays = sandboxes(history);
    const first = new Map<string, string>();
    return history.arrived.flatMap((one) => {
      const event = events.get(one.eventId);
      if (event === undefined) return [`${one.eventId} arrived and is not stored`];
      const found = wrongPayload(one, event, labels.get(event.keyId));
      if (!isDue(event)) found.push(`${one.eventId} is held (${event.verdict}) and arrived`);
      if (one.at === "customer" && stays.has(event.tenant)) {
        found.push(`${one.eventId} of a sandbox reached a CRM`);
      }
      // The number of the attempt is the tier's, and the time of the call the CRM's.
      const timeless = one.body.replace(/"attempt":\d+,/, "");
      const before = first.get(one.eventId) ?? timeless;
      first.set(one.eventId, before);
      return before === timeless ? found : [...found, `${one.eventId} arrived with other bytes than before`];
    });
  },

  /** DECISIONS, Delivery: what was taken is sent again only when something went wrong meanwhile. */
  repeats: (history) => {
    // An answer that came too late for a busy process is none.
    const late = new Set(
      history.tables.attempts
        .filter(({ outcome, durationMs }) =>
          outcome === "unreachable" && (durationMs ?? 0) >= history.sendTimeoutMs * 0.9
        )
        .map(({ eventId, number }) => `${eventId} ${number}`),
    );
    return repeated(history, "tier", {
      causes: disturbances(history).filter(mayRepeat),
      isLate: ({ eventId, body }) => late.has(`${eventId} ${numberIn(body)}`),
      within: (taken, again) => ({ fromMs: taken.atMs - writtenMs - leaseMs, toMs: again.atMs }),
    });
  },

  /** A CRM gets each event once, unless the process, the database or the CRM itself failed between call and record. */
  effects: (history) => {
    // The CRM's answer came too late for a busy process, which has said so.
    const late = new Set(
      history.tables.attempts.filter(({ reason }) => /timeout/i.test(reason ?? ""))
        .map(({ eventId }) => eventId),
    );
    return repeated(history, "customer", {
      causes: history.happened.filter(({ kind }) =>
        /^(actions|postgres|backend|disk|slots|standby|read_only|downstream|day_passes)/.test(kind)
      ),
      isLate: ({ eventId }) => late.has(eventId),
      within: ({ atMs }) => ({ fromMs: atMs - writtenMs, toMs: atMs + 2_500 }),
    });
  },

  /** DECISIONS, Delivery: every attempt leaves a row, numbered without a gap; what is dead has spent them all. */
  attempts: (history) => {
    const found: string[] = [];
    const known = new Set<string>();
    const replayed = new Set(history.replayed.map(({ eventId }) => eventId));
    for (const [eventId, all] of Map.groupBy(history.tables.attempts, ({ eventId }) => eventId)) {
      all.forEach(({ number }, index) => {
        known.add(`${eventId} ${number}`);
        if (number !== index + 1) found.push(`${eventId}: attempt ${number} follows on a gap`);
      });
      found.push(...tooEarly(all, replayed.has(eventId) ? null : history));
    }
    const seen = new Set<string>();
    for (const { eventId, body } of history.hasActions ? [] : history.arrived) {
      const attempt = `${eventId} ${numberIn(body)}`;
      if (seen.has(attempt)) found.push(`attempt ${attempt} arrived twice`);
      if (!known.has(attempt)) found.push(`attempt ${attempt} arrived and is not on record`);
      seen.add(attempt);
    }
    const replays = new Set<string>();
    for (const { eventId, spent, reason } of history.replayed) {
      // After a replay the next refusal makes it dead again.
      if (!replays.has(eventId) && spent < history.attemptsMax) {
        found.push(`${eventId} was dead after ${spent} attempts (${reason})`);
      }
      replays.add(eventId);
    }
    return found;
  },
};

/** DECISIONS, Delivery: what was refused waits ever longer, and what was not sent spends nothing. */
function tooEarly(all: readonly StoredAttempt[], history: History | null): string[] {
  return all.flatMap(({ eventId, number, atMs, durationMs, outcome, status, spent }, index) => {
    const isRight = outcome === "refused" || outcome === "lost" ? spent : status !== 503 || !spent;
    if (!isRight) return [`${eventId}: attempt ${number} (${outcome}, ${status}) has spent ${spent}`];
    const [next] = all.slice(index + 1);
    if (next === undefined || outcome !== "refused" || history === null) return [];
    const times = all.slice(0, index + 1).filter((one) => one.spent).length;
    const backoffMs = Math.min(1_000, 100 * 3 ** (times - 1)) / 2;
    const leastMs = Math.max(backoffMs, status === 424 && !history.hasActions ? retryAfterMs : 0);
    const waitedMs = next.atMs - atMs - (durationMs ?? 0);
    // A day that passes ends leases: then one may be settled after the next one was begun.
    const hasLost = history.clockSteps.some(({ toMs }) =>
      Math.abs(next.atMs - databaseTime(history, toMs)) < leaseMs
    );
    if (hasLost) return [];
    // They are kept to the millisecond.
    return waitedMs >= 0 && waitedMs < leastMs - 2
      ? [`${eventId}: attempt ${next.number} came ${waitedMs} ms after a refusal`]
      : [];
  });
}

function wrongPayload(one: Arrived, event: StoredEvent, source: string | undefined): string[] {
  try {
    const outer = JSON.parse(one.body);
    const sent = one.at === "tier" ? outer : outer.data;
    const content = sent[event.kind === "lead" ? "lead" : "submission"];
    const pairs: Readonly<Record<string, readonly [unknown, unknown]>> = {
      event_id: [sent.event_id, event.eventId],
      tenant: [sent.tenant, event.tenant],
      source: [sent.source, source],
      kind: one.at === "tier"
        ? [sent.kind, event.kind]
        : [outer.type, event.kind === "lead" ? "lead.accepted" : "form.submitted"],
      signature: [one.isSigned, true],
      arrived_at: [one.tenant, event.tenant],
      received_at: [Math.round(Date.parse(sent.received_at)), Math.floor(event.receivedAtMs)],
      flags: [sent.flags, event.flags],
      content: [content, JSON.parse(event.lead)],
      extra: [one.body.includes(`"extra":${event.extra ?? "{}"},`), true],
    };
    return Object.entries(pairs).filter(([, [is, wanted]]) => differs(is, wanted))
      .map(([name]) => `${event.eventId} arrived with another ${name}`);
  } catch (error) {
    return [`${event.eventId} arrived as what cannot be read (${(error as Error).name})`];
  }
}

interface Excuses {
  readonly causes: readonly Happened[];
  readonly isLate: (taken: Arrived) => boolean;
  readonly within: (taken: Arrived, again: Arrived) => Span;
}

/** What was taken and came again, without an excuse. */
function repeated({ arrived }: History, place: Arrived["at"], { causes, isLate, within }: Excuses): string[] {
  const byEvent = Map.groupBy(arrived.filter(({ at }) => at === place), ({ eventId }) => eventId);
  return [...byEvent.values()].flatMap((all) => {
    const first = all.findIndex(isTaken);
    const [taken, again] = first < 0 ? [] : all.slice(first);
    if (taken === undefined || again === undefined) return [];
    if (isLate(taken) || isTouched(causes, within(taken, again))) return [];
    return [`${taken.eventId} was taken at ${seconds(taken.atMs)} and sent again at ${seconds(again.atMs)}`];
  });
}

/** What touches only commits, or is over long before a lease, is no reason: a settlement is kept until it can be written. */
function mayRepeat({ kind, fromMs, toMs }: Happened): boolean {
  if (/^(cut|freeze)_(before|inside|during|after)/.test(kind)) return false;
  return kind !== "backends_terminate" || toMs - fromMs > 1_500;
}
