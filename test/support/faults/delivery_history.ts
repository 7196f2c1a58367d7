/** Compares accepted posts, downstream requests and stored attempts: delivery's promises under kills and cuts. */

import type { CrmCall } from "../actions/crm_sink.ts";
import type { ReceivedMail } from "../actions/smtp_listener.ts";
import type { History } from "./history.ts";
import { readClaimed, readStore, type Store, type StoredAttempt, type StoredEvent } from "./store.ts";
import { isAccepted, type Tier, type TierRequest } from "./tier.ts";

/** The process that was killed. */
export type Victim = "service" | "actions" | "postgres";

/** A kill and the sends in flight at that time. */
interface Kill {
  readonly victim: Victim;
  /** Unsettled sends, as `event_id number`. */
  readonly sends: ReadonlySet<string>;
  /** Events whose request had no response yet. */
  readonly open: ReadonlySet<string>;
}

/** What the customers received. */
export interface Effects {
  readonly calls: readonly CrmCall[];
  readonly mails: readonly ReceivedMail[];
}

interface Parts {
  readonly databaseUrl: string;
  readonly intake: History;
  readonly tier: Tier;
  /**
   * Whether the service may discard its connections by itself, as on a busy machine. A claim can then commit without a
   * response: nothing is sent, and after its lease the attempt counts as lost.
   */
  readonly mayLoseClaims?: boolean;
}

/** The deliveries of one store to one tier. */
export class DeliveryHistory {
  readonly #parts: Parts;
  readonly #kills: Kill[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Kills a process, restarts it, and records what was in flight. */
  async kill(
    victim: Victim,
    parts: { readonly end: () => Promise<unknown>; readonly begin: () => Promise<unknown> },
  ): Promise<void> {
    const { databaseUrl, tier } = this.#parts;
    const arrived = tier.requests.length;
    const open = [...tier.inFlight];
    // On a busy machine requests arrive and leases expire during a kill.
    const claimedBefore = await readClaimed(databaseUrl);
    await parts.end();
    // A killed PostgreSQL can be read after its restart.
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
   * - nothing was sent that was not accepted, except for posts that got 503 or no response;
   * - the attempts on record are the requests that arrived, with their responses, except for sends in flight at a kill
   *   (recorded as lost) and connections that could not be opened;
   * - an event that the tier has accepted is sent again only after a kill in between, under the same id and with the
   *   same bytes but for the attempt's number;
   * - each effect was performed once, or again after a kill during it, under the same id and with the same bytes.
   *
   * @throws {Error} with every finding
   */
  async check(effects?: Effects): Promise<void> {
    const { databaseUrl, intake, tier } = this.#parts;
    const store = await readStore(databaseUrl);
    const cut = new Set(this.#kills.flatMap((kill) => [...kill.sends]));
    if (this.#parts.mayLoseClaims) {
      const arrived = new Set(tier.requests.map(sendOf));
      const lost = store.attempts.filter(({ outcome }) => outcome === "lost");
      for (const send of lost.map(({ eventId, number }) => `${eventId} ${number}`)) {
        if (!arrived.has(send)) cut.add(send);
      }
    }
    const findings = [
      ...intake.findings(store),
      ...stateFindings(store),
      ...recordFindings(tier.requests, store.attempts, cut),
      ...payloadFindings(tier.requests, store.events),
      ...repeatsOf(tier.requests).filter((earlier) => !cut.has(sendOf(earlier)))
        .map((earlier) => `${sendOf(earlier)} was taken, no kill fell into it, and it was sent again`),
    ];
    if (effects !== undefined) findings.push(...this.#effects(effects, store));
    if (findings.length > 0) {
      const shown = findings.slice(0, 20).join("\n  ");
      throw new Error(`${findings.length} findings, ${store.events.length} events:\n  ${shown}`);
    }
  }

  // The tier finishes its effects after the service's death and recognizes them when they are repeated.
  #effects({ calls, mails }: Effects, store: Store): string[] {
    const findings: string[] = [];
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
    return findings;
  }
}

function sendOf({ eventId, attempt }: TierRequest): string {
  return `${eventId} ${attempt}`;
}

function isDelivery({ outcome }: StoredAttempt): boolean {
  return outcome === "delivered";
}

/** Returns the accepted requests after which the event was sent again. */
function repeatsOf(requests: readonly TierRequest[]): TierRequest[] {
  const byEvent = [...Map.groupBy(requests, ({ eventId }) => eventId).values()];
  return byEvent.flatMap((ofEvent) => ofEvent.slice(0, -1).filter(isAccepted));
}

/** Checks that each event is in one final state and that the running counts agree. */
function stateFindings({ events, attempts, outbox, dead, counted }: Store): string[] {
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

/** Compares stored attempts with received requests, number by number. */
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

/** Compares requests with stored events, whose raw body is the posted one (see {@linkcode History}). */
function payloadFindings(
  requests: readonly TierRequest[],
  events: readonly StoredEvent[],
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
    // Attempts differ in the attempt number only.
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

function envelopeFindings(text: string, event: StoredEvent): string[] {
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
