/**
 * What arrived downstream.
 *
 * @module
 */

import type { Arrived, Happened, History, StoredEvent } from "../history.ts";
import { byId, differs, disturbances, isTouched, type Rule, seconds } from "./rule.ts";

/** Whether an event is to be delivered at all: what is held is not. */
const isDue = ({ verdict }: StoredEvent) => verdict === null || verdict === "clean";

function sandboxes({ tenants }: History): Set<string> {
  return new Set(tenants.filter(({ sandbox }) => sandbox).map(({ slug }) => slug));
}

/** SPEC, What the service does: delivery at least once. */
export const deliveredAtLeastOnce: Rule = {
  name: "delivered",
  says: "each stored event arrives downstream and is answered 2xx, once everything is whole again",
  broken: (history) => {
    const { tables, arrived, undrained, hasActions } = history;
    const taken = new Set(arrived.filter(isTaken).map(({ eventId }) => eventId));
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
};

const isTaken = ({ said }: Arrived) => said !== null && said >= 200 && said < 300;

/** Which attempt a request says that it is. */
const numberIn = (body: string) => /"attempt":(\d+),/.exec(body)?.[1];

/** Nothing but what was accepted arrives, and as it was accepted. */
export const deliveredAsStored: Rule = {
  name: "payload",
  says: "what arrives is what was stored, the same each time, under the event's id and tenant",
  broken: ({ tables, arrived }) => {
    const events = byId(tables.events);
    const first = new Map<string, string>();
    return arrived.flatMap((one) => {
      const event = events.get(one.eventId);
      if (event === undefined) return [`${one.eventId} arrived and is not stored`];
      const found = wrongPayload(one, event);
      // The number of the attempt is the tier's, and the time of the call the CRM's.
      const timeless = one.body.replace(/"attempt":\d+,/, "");
      const before = first.get(one.eventId) ?? timeless;
      first.set(one.eventId, before);
      return before === timeless ? found : [...found, `${one.eventId} arrived with other bytes than before`];
    });
  },
};

function wrongPayload(one: Arrived, event: StoredEvent): string[] {
  try {
    const outer = JSON.parse(one.body);
    const sent = one.at === "tier" ? outer : outer.data;
    const content = sent[event.kind === "lead" ? "lead" : "submission"];
    const pairs: Readonly<Record<string, readonly [unknown, unknown]>> = {
      event_id: [sent.event_id, event.eventId],
      tenant: [sent.tenant, event.tenant],
      arrived_at: [one.tenant, event.tenant],
      received_at: [Math.round(Date.parse(sent.received_at)), Math.floor(event.receivedAtMs)],
      flags: [sent.flags, event.flags],
      content: [content, JSON.parse(event.lead)],
      extra: [sent.extra, JSON.parse(event.extra ?? "{}")],
    };
    return Object.entries(pairs).filter(([, [is, wanted]]) => differs(is, wanted))
      .map(([name]) => `${event.eventId} arrived with another ${name}`);
  } catch (error) {
    return [`${event.eventId} arrived as what cannot be read (${(error as Error).name})`];
  }
}

/** SPEC, What the service does: a sandbox tenant has no CRM route and no email route. */
export const sandboxStays: Rule = {
  name: "sandbox",
  says: "no lead of a sandbox reaches a CRM, and nothing that is held or kept aside is delivered",
  broken: (history) => {
    const events = byId(history.tables.events);
    const stays = sandboxes(history);
    return history.arrived.flatMap(({ at, eventId, tenant }) => {
      const event = events.get(eventId);
      if (at === "customer" && (stays.has(event?.tenant ?? "") || stays.has(tenant))) {
        return [`${eventId} of a sandbox reached a CRM`];
      }
      return event === undefined || isDue(event) ? [] : [`${eventId} is held (${event.verdict}) and arrived`];
    });
  },
};

/** A lease and what a busy machine adds: so long a fault may still lead to a repeat. */
const leaseMs = 9_000;
const writtenMs = 500;

/** DECISIONS, Delivery: at least once, and not more often than a fault makes it. */
export const repeatedOnlyByFaults: Rule = {
  name: "repeats",
  says: "what was taken is sent again only when something went wrong meanwhile",
  broken: (history) => {
    const causes = disturbances(history).filter(mayRepeat);
    // An answer that came too late for a busy process is none.
    const late = new Set(
      history.tables.attempts
        .filter(({ outcome, durationMs }) =>
          outcome === "unreachable" && (durationMs ?? 0) >= history.sendTimeoutMs * 0.9
        )
        .map(({ eventId, number }) => `${eventId} ${number}`),
    );
    const byEvent = Map.groupBy(history.arrived.filter(({ at }) => at === "tier"), ({ eventId }) => eventId);
    return [...byEvent.values()].flatMap((all) => {
      const taken = all.findIndex(isTaken);
      const again = taken < 0 ? undefined : all[taken + 1];
      if (again === undefined) return [];
      const { eventId, saidAtMs, atMs, body } = all[taken] as Arrived;
      const span = { fromMs: atMs - writtenMs - leaseMs, toMs: again.atMs };
      return isTouched(causes, span) || late.has(`${eventId} ${numberIn(body)}`)
        ? []
        : [`${eventId} was taken at ${seconds(saidAtMs ?? atMs)} and sent again at ${seconds(again.atMs)}`];
    });
  },
};

/** What touches only commits, or is over long before a lease, is no reason: a settlement is kept until it can be written. */
function mayRepeat({ kind, fromMs, toMs }: Happened): boolean {
  if (/^(cut|freeze)_(before|inside|during|after)/.test(kind)) return false;
  return kind !== "backends_terminate" || toMs - fromMs > 1_500;
}

/** A CRM gets each event once, unless the process or the database died between call and record. */
export const effectsOnce: Rule = {
  name: "effects",
  says:
    "a CRM that has taken an event is called again only after a fault of the actions process, of its database, or of the CRM",
  broken: (history) => {
    const causes = history.happened.filter(({ kind }) =>
      /^(actions|postgres|backend|disk|slots|standby|read_only|downstream|day_passes)/.test(kind)
    );
    // The CRM's answer came too late for a busy process, which has said so.
    const late = new Set(
      history.tables.attempts.filter(({ reason }) => /timeout/i.test(reason ?? "")).map(({ eventId }) =>
        eventId
      ),
    );
    const calls = Map.groupBy(
      history.arrived.filter(({ at }) => at === "customer"),
      ({ eventId }) => eventId,
    );
    return [...calls.values()].flatMap((all) => {
      const taken = all.findIndex(isTaken);
      const again = taken < 0 ? undefined : all[taken + 1];
      if (again === undefined) return [];
      const { eventId, atMs } = all[taken] as Arrived;
      return late.has(eventId) || isTouched(causes, { fromMs: atMs - writtenMs, toMs: atMs + 2_500 })
        ? []
        : [`${eventId} was taken by the CRM at ${seconds(atMs)} and called again at ${seconds(again.atMs)}`];
    });
  },
};

/** DECISIONS, Delivery: attempts, and what is dead. */
export const attemptsAddUp: Rule = {
  name: "attempts",
  says: "every attempt leaves a row, numbered without a gap; what is dead has spent them all",
  broken: (history) => {
    const found: string[] = [];
    const { tables, arrived, hasActions } = history;
    const known = new Set<string>();
    const byEvent = Map.groupBy(tables.attempts, ({ eventId }) => eventId);
    for (const [eventId, all] of byEvent) {
      all.forEach(({ number }, index) => {
        known.add(`${eventId} ${number}`);
        if (number !== index + 1) found.push(`${eventId}: attempt ${number} follows on a gap`);
      });
    }
    if (!hasActions) {
      const seen = new Set<string>();
      for (const { eventId, body } of arrived) {
        const number = numberIn(body);
        if (seen.has(`${eventId} ${number}`)) found.push(`${eventId}: attempt ${number} arrived twice`);
        seen.add(`${eventId} ${number}`);
        if (!known.has(`${eventId} ${number}`)) {
          found.push(`${eventId}: attempt ${number} arrived and is not on record`);
        }
      }
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

/** DECISIONS, Delivery, and the certificates' renewal. */
export const certificatesRenewed: Rule = {
  name: "certificates",
  says: "a certificate that was replaced is soon in use, at the listener and at the delivery",
  broken: ({ swapped, shown, arrived, hasActions }) => {
    const last = (whose: "listener" | "delivery") => swapped.filter((one) => one.whose === whose).at(-1);
    const listener = last("listener");
    const wrong = listener === undefined
      ? []
      : shown.filter(({ serial }) => serial !== listener.serial).map(({ node }) =>
        `service ${node} shows an old certificate`
      );
    const delivery = last("delivery");
    if (delivery === undefined || hasActions) return wrong;
    const late = arrived.filter(({ atMs, certificate }) =>
      atMs > delivery.atMs + renewedMs && certificate !== delivery.serial
    );
    return late.length === 0 ? wrong : [...wrong, `${late.length} deliveries came with an old certificate`];
  },
};

// The files are looked at every ten seconds; a busy machine adds to it.
const renewedMs = 20_000;
