/**
 * What was accepted, what arrived downstream and what is on record, held against one another: the promise of the
 * delivery, whatever was killed or cut in between.
 */

import type { CrmCall } from "../actions/crm_sink.ts";
import type { Received } from "../actions/smtp_listener.ts";
import {
  type DeliverableEvent,
  type Deliveries,
  readClaimed,
  readDeliveries,
  type StoredAttempt,
} from "./delivery_store.ts";
import type { History } from "./history.ts";
import { isTaken, type Tier, type TierRequest } from "./tier.ts";

/** What was killed. */
export type Victim = "service" | "actions" | "postgres";

/** A kill, and what was in flight then. */
interface Kill {
  readonly victim: Victim;
  /** Sends that had not been settled, as `event_id number`. */
  readonly sends: ReadonlySet<string>;
  /** Events whose request had not been answered. */
  readonly open: ReadonlySet<string>;
}

/** What the customers got. */
export interface Effects {
  readonly calls: readonly CrmCall[];
  readonly mails: readonly Received[];
}

/** What the check has counted. */
export interface DeliveryFigures {
  readonly delivered: number;
  readonly dead: number;
  /** Requests for an event that the tier had already taken. */
  readonly repeats: number;
  /** Sends in flight at the kills. */
  readonly inFlightAtKills: number;
  readonly lost: number;
  readonly effectRepeats: number;
}

/** The deliveries of one store to one tier, and the check of them. */
export class DeliveryHistory {
  readonly #parts: { readonly databaseUrl: string; readonly intake: History; readonly tier: Tier };
  readonly #kills: Kill[] = [];

  constructor(parts: { readonly databaseUrl: string; readonly intake: History; readonly tier: Tier }) {
    this.#parts = parts;
  }

  /** Kills something and starts it again, and notes what was in flight. */
  async kill(
    victim: Victim,
    parts: { readonly end: () => Promise<unknown>; readonly begin: () => Promise<unknown> },
  ): Promise<void> {
    const { databaseUrl, tier } = this.#parts;
    const arrived = tier.requests.length;
    const open = [...tier.inFlight];
    // On a busy machine a kill takes time, in which requests come and leases expire.
    const claimedBefore = await readClaimed(databaseUrl);
    await parts.end();
    // A store that was killed can be read when it is back.
    if (victim === "postgres") await parts.begin();
    const claimed = [...claimedBefore, ...await readClaimed(databaseUrl)];
    if (victim !== "postgres") await parts.begin();
    open.push(...tier.requests.slice(arrived));
    this.#kills.push({
      victim,
      sends: new Set([...claimed, ...open.map(sendOf)]),
      open: new Set(open.map(({ eventId }) => eventId)),
    });
  }

  /**
   * Checks that nothing waits any more, and:
   *
   * - every event that was answered 202 or 200 is delivered or dead, with its payload byte for byte;
   * - nothing was sent that was not accepted, except for what got 503 or no answer;
   * - the attempts on record are the requests that arrived, with their answers, except for sends in flight at a kill
   *   (recorded as lost) and connections that could not be had;
   * - an event that the tier had taken is sent again only when a kill fell between, under the same id and with the
   *   same bytes but for the attempt's number;
   * - each effect was done once, or again after a kill that fell into it, under the same id and with the same bytes.
   *
   * @throws {Error} with every finding
   */
  async check(effects?: Effects): Promise<DeliveryFigures> {
    const { databaseUrl, intake, tier } = this.#parts;
    const store = await readDeliveries(databaseUrl);
    const cut = new Set(this.#kills.flatMap((kill) => [...kill.sends]));
    const findings = [
      ...intake.findings(store),
      ...stateFindings(store),
      ...recordFindings(tier.requests, store.attempts, cut),
      ...payloadFindings(tier.requests, store.events),
      ...repeatsOf(tier.requests).filter((earlier) => !cut.has(sendOf(earlier)))
        .map((earlier) => `${sendOf(earlier)} was taken, no kill fell into it, and it was sent again`),
    ];
    const done = effects === undefined ? { findings: [], repeats: 0 } : this.#effects(effects, store);
    findings.push(...done.findings);
    if (findings.length > 0) {
      const shown = findings.slice(0, 20).join("\n  ");
      throw new Error(`${findings.length} findings, ${store.events.length} events:\n  ${shown}`);
    }
    return {
      delivered: new Set(store.attempts.filter(isDelivery).map(({ eventId }) => eventId)).size,
      dead: store.dead.length,
      repeats: repeatsOf(tier.requests).length,
      inFlightAtKills: cut.size,
      lost: store.attempts.filter(({ outcome }) => outcome === "lost").length,
      effectRepeats: done.repeats,
    };
  }

  // The service's end leaves the effects alone: the tier finishes them, and knows them when they come again.
  #effects({ calls, mails }: Effects, store: Deliveries): { findings: string[]; repeats: number } {
    const findings: string[] = [];
    let repeats = 0;
    const delivered = new Set(store.attempts.filter(isDelivery).map(({ eventId }) => eventId));
    const known = new Set(store.events.map(({ eventId }) => eventId));
    const done = {
      call: Map.groupBy(calls, (call) => String(call.headers["webhook-id"])),
      mail: Map.groupBy(mails, ({ raw }) => /^Message-ID: <([^@>]+)@/mi.exec(raw)?.[1] ?? "no id"),
    };
    for (const kind of ["call", "mail"] as const) {
      for (const id of done[kind].keys()) {
        if (!known.has(id)) findings.push(`a ${kind} for ${id}, not accepted`);
      }
      for (const id of delivered) {
        const times = done[kind].get(id)?.length ?? 0;
        const kills = this.#kills.filter((kill) => kill.victim !== "service" && kill.open.has(id));
        if (times === 0) findings.push(`${id} is delivered without its ${kind}`);
        repeats += Math.max(0, times - 1);
        if (times > 1 + kills.length) {
          findings.push(`${id}: ${times} of its ${kind}, with ${kills.length} kills in flight`);
        }
      }
    }
    for (const [id, ofEvent] of done.call) {
      if (new Set(ofEvent.map(({ body }) => body)).size > 1) {
        findings.push(`${id}: calls with different bytes`);
      }
      const event = store.events.find(({ eventId }) => eventId === id);
      const content = `"lead":${event?.lead},"extra":${event?.extra ?? "{}"}`;
      if (event !== undefined && !ofEvent[0]?.body.includes(content)) {
        findings.push(`${id}: the CRM got another payload than was accepted`);
      }
    }
    return { findings, repeats };
  }
}

function sendOf({ eventId, attempt }: TierRequest): string {
  return `${eventId} ${attempt}`;
}

function isDelivery({ outcome }: StoredAttempt): boolean {
  return outcome === "delivered";
}

/** The requests that were taken, and after which the event was sent again all the same. */
function repeatsOf(requests: readonly TierRequest[]): TierRequest[] {
  const byEvent = [...Map.groupBy(requests, ({ eventId }) => eventId).values()];
  return byEvent.flatMap((ofEvent) => ofEvent.slice(0, -1).filter(isTaken));
}

/** Each event is in one state, which is an end, and the running counts know. */
function stateFindings({ events, attempts, outbox, dead, counted }: Deliveries): string[] {
  const findings = outbox.map((id) => `${id} still waits`);
  const delivered = new Set(attempts.filter(isDelivery).map(({ eventId }) => eventId));
  const buried = new Set(dead);
  for (const { eventId } of events) {
    const isDead = buried.has(eventId);
    if (delivered.has(eventId) && isDead) findings.push(`${eventId} is delivered and dead`);
    if (!delivered.has(eventId) && !isDead && !outbox.includes(eventId)) {
      findings.push(`${eventId} is neither delivered nor dead`);
    }
  }
  if (counted.pending !== outbox.length) {
    findings.push(`pending counts ${counted.pending}, of ${outbox.length}`);
  }
  if (counted.dead !== dead.length) findings.push(`dead counts ${counted.dead}, of ${dead.length}`);
  return findings;
}

/** Attempts on record against requests that arrived, number by number. */
function recordFindings(
  requests: readonly TierRequest[],
  attempts: readonly StoredAttempt[],
  cut: ReadonlySet<string>,
): string[] {
  const findings: string[] = [];
  const seen = new Map<string, TierRequest>();
  for (const request of requests) {
    if (seen.has(sendOf(request))) findings.push(`${sendOf(request)} was sent twice`);
    seen.set(sendOf(request), request);
  }
  const recorded = new Set<string>();
  const next = new Map<string, number>();
  for (const { eventId, number, outcome, status } of attempts) {
    const send = `${eventId} ${number}`;
    recorded.add(send);
    if (number !== (next.get(eventId) ?? 1)) findings.push(`${send} follows on a gap in the record`);
    next.set(eventId, number + 1);
    const said = seen.get(send)?.said;
    if (outcome === "lost") {
      if (!cut.has(send)) findings.push(`${send} is recorded as lost, and no kill fell into it`);
    } else if (outcome === "unreachable") {
      if (seen.has(send) ? said !== status && !cut.has(send) : status !== null) {
        findings.push(`${send} is recorded as unreachable (${status}), and was answered ${said}`);
      }
    } else if (said !== status) {
      findings.push(`${send} is recorded as ${outcome} (${status}), and was answered ${said}`);
    }
  }
  for (const send of seen.keys()) {
    if (!recorded.has(send)) findings.push(`${send} arrived and is not on record`);
  }
  return findings;
}

/** What arrived against what is stored, whose raw body is what was posted (see {@linkcode History}). */
function payloadFindings(
  requests: readonly TierRequest[],
  events: readonly DeliverableEvent[],
): string[] {
  const findings: string[] = [];
  const byId = new Map(events.map((event) => [event.eventId, event]));
  const checked = new Map<string, string>();
  for (const request of requests) {
    const { eventId, attempt, text } = request;
    const event = byId.get(eventId);
    if (event === undefined) {
      findings.push(`${eventId} was sent, and is not in the store`);
      continue;
    }
    // The same bytes at every attempt, but for its number.
    const timeless = text.replace(`"attempt":${attempt},`, "");
    const before = checked.get(eventId);
    if (before === timeless) continue;
    if (before !== undefined) findings.push(`${sendOf(request)} has another payload than an earlier attempt`);
    checked.set(eventId, timeless);
    if (!text.includes(`"lead":${event.lead},"extra":${event.extra ?? "{}"},`)) {
      findings.push(`${sendOf(request)} has another payload than is stored`);
    }
    findings.push(...envelopeFindings(text, event).map((what) => `${sendOf(request)}: ${what}`));
  }
  return findings;
}

function envelopeFindings(text: string, event: DeliverableEvent): string[] {
  const { event_id, kind, tenant, source, received_at, lead, extra, flags } = JSON.parse(text);
  const posted = JSON.parse(event.raw);
  const pairs: Readonly<Record<string, readonly [unknown, unknown]>> = {
    event_id: [event_id, event.eventId],
    kind: [kind, "lead"],
    tenant: [tenant, event.tenant],
    source: [source, event.source],
    received_at: [received_at, event.receivedAt],
    flags: [JSON.stringify(flags), JSON.stringify(event.flags)],
    first_name: [lead.first_name, posted.first_name],
    last_name: [lead.last_name, posted.last_name],
    crm_id: [extra.crm_id, posted.crm_id],
    nested: [JSON.stringify(extra.nested), JSON.stringify(posted.nested)],
  };
  return Object.entries(pairs).filter(([, [sent, wanted]]) => sent !== wanted)
    .map(([name, [sent, wanted]]) => `${name} is ${sent} and not ${wanted}`);
}
