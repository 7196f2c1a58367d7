/** `ctl restored` */

import { isAuditRow, readLines, type ShippedRow } from "./audit.ts";
import { type Command, Refused, type Reply } from "./command.ts";
import { counted, JsonText, shortTime, table } from "./terminal.ts";
import { parseTime } from "./values.ts";
import { revokeKey } from "#src/store/operator/api_keys.ts";
import { readAuditDigest } from "#src/store/operator/audit.ts";
import { ErasureRun } from "#src/store/operator/erasure.ts";
import {
  holdEvents,
  markEffectsDone,
  noteRestore,
  readKey,
  readRestoredFacts,
  readWaiting,
  type RestoredFacts,
  type WaitingEvent,
} from "#src/store/operator/restored.ts";
import type { Pool } from "#src/store/pool.ts";

/** What the log tells of the deliveries of an event. */
interface DeliveryTrace {
  /** Effects that were done, by kind. */
  readonly done: Set<string>;
  /** Effects that are not known to be done, with the word of the last attempt. */
  readonly open: Map<string, string>;
  /** After the last line that tells of its effects one could not be recorded: which were done is not known. */
  isUnclear: boolean;
}

/** What the files tell. Times are ISO 8601, UTC. */
interface Evidence {
  /** The first line of our processes' logs; `null`: there is none. */
  logSince: string | null;
  /** Lines were lost after the moment of the restore. */
  isLogCut: boolean;
  readonly deliveries: Map<string, DeliveryTrace>;
  /** Posts that were answered 202: the key's id and the request's. */
  readonly acknowledged: { readonly keyId: string; readonly requestId: string }[];
  /** Rows of the audit, in their order. */
  readonly deeds: ShippedRow[];
}

// Of the times of two machines: what is settled before the moment of the restore is in the database, and noting it
// again does no harm.
const skewMs = 5_000;
// A row of the audit has the time at which its transaction was at work, and may have been committed later.
const deedMs = 60_000;

/**
 * Reads what the files tell of the time after `point`.
 *
 * @throws {Refused} when a file cannot be read
 */
async function readEvidence(files: readonly string[], point: string): Promise<Evidence> {
  const evidence: Evidence = {
    ...{ logSince: null, isLogCut: false, deliveries: new Map(), acknowledged: [], deeds: [] },
  };
  for (const file of files) {
    try {
      for await (const line of readLines(file)) take(evidence, parsed(line), Date.parse(point));
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === undefined) throw error;
      throw new Refused(`${file} cannot be read: ${code}`);
    }
  }
  evidence.deeds.sort((a, b) => a.id - b.id);
  return evidence;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The journal has lines of systemd between ours.
    return null;
  }
}

function take(evidence: Evidence, value: unknown, pointMs: number): void {
  if (isAuditRow(value)) {
    if (Date.parse(value.at) > pointMs - deedMs) evidence.deeds.push(value);
    return;
  }
  if (value === null || typeof value !== "object") return;
  const line = value as Readonly<Record<string, unknown>>;
  // This one has no time: it stands where the lines are missing.
  if (line.event === "log_lines_dropped") evidence.isLogCut = true;
  if (typeof line.event !== "string" || typeof line.time !== "string") return;
  if (evidence.logSince === null || line.time < evidence.logSince) evidence.logSince = line.time;
  const atMs = Date.parse(line.time);
  if (!(atMs > pointMs - skewMs)) return;
  if (line.event === "request" && line.status === 202 && atMs > pointMs) {
    evidence.acknowledged.push({ keyId: String(line.key_id), requestId: String(line.request_id) });
  }
  if (typeof line.event_id !== "string") return;
  const isUnclear = line.event === "cannot_work" || line.event === "fault";
  if (!isUnclear && line.event !== "delivery") return;
  const trace = evidence.deliveries.get(line.event_id) ??
    { done: new Set(), open: new Map(), isUnclear };
  evidence.deliveries.set(line.event_id, trace);
  trace.isUnclear = isUnclear;
  if (!isUnclear) takeDelivery(trace, line);
}

// The members of the line `delivery` that are no effects; the kinds of these are single words (sql/0009_actions.sql).
const others = ["time", "level", "event", "tenant", "kind", "attempt", "status"];

function takeDelivery(trace: DeliveryTrace, line: Readonly<Record<string, unknown>>): void {
  for (const [effect, word] of Object.entries(line)) {
    if (others.includes(effect) || !/^[a-z]{1,20}$/.test(effect) || typeof word !== "string") continue;
    if (word === "done") {
      trace.done.add(effect);
      trace.open.delete(effect);
    } else if (word.startsWith("failed: ")) trace.open.set(effect, word.slice("failed: ".length));
  }
}

/** An event that waits, and why it may be repeated. */
interface Doubt extends WaitingEvent {
  readonly reason: string;
}

/** What an operator did after the moment of the restore, and what of it the command does again. */
interface Deed extends ShippedRow {
  readonly again: Again | null;
}

/** To be done again to a key, an event or a collision; `kept` are collisions of the event that stay. */
interface Again {
  readonly kind: "revoke" | "erase" | "erase_collision";
  readonly id: string;
  readonly kept: readonly string[];
}

/** The sender whose acknowledged leads are lost, as JSON has it. */
interface Lost {
  readonly key_id: string;
  readonly tenant: string | null;
  readonly source: string | null;
  readonly request_ids: readonly string[];
}

/** What is found out after a restore. */
interface Found {
  readonly point: string;
  readonly waiting: number;
  /** Of the events that wait, those that had effects since. */
  readonly waitingDone: number;
  readonly done: readonly { readonly eventId: string; readonly effect: string }[];
  readonly doubts: readonly Doubt[];
  readonly lost: readonly Lost[];
  readonly deeds: readonly Deed[];
  readonly warnings: readonly string[];
}

/** Finds out what is lost, undone or may be repeated; changes nothing. */
async function examine(pool: Pool, facts: RestoredFacts, point: string, evidence: Evidence): Promise<Found> {
  const gap = gapOf(evidence, point);
  const doubts: Doubt[] = [];
  let [waiting, waitingDone] = [0, 0];
  for await (const event of readWaiting(pool)) {
    waiting += 1;
    const trace = evidence.deliveries.get(event.eventId);
    if (trace !== undefined && trace.done.size > 0) waitingDone += 1;
    const reason = doubtOf(trace, gap);
    if (reason !== null) doubts.push({ ...event, reason });
  }
  const done = [...evidence.deliveries].flatMap(([eventId, trace]) =>
    [...trace.done].map((effect) => ({ eventId, effect }))
  );
  const { newestEventAt, now } = facts;
  const warnings = [
    ...(gap === null ? [] : [`The log does not tell what was delivered since: ${gap}.`]),
    ...(evidence.deeds.length > 0 ? [] : [
      "No row of the audit after that moment was given: what operators did since, such as revoking keys or erasing people, is known only from the file of ctl audit export.",
    ]),
    ...(newestEventAt === null || newestEventAt <= now ? [] : [
      `The server's clock says ${now}, and the newest event is of ${newestEventAt}: set the clock before you start anything.`,
    ]),
  ];
  return {
    ...{ point, waiting, waitingDone, done, doubts, warnings },
    lost: await lostOf(pool, evidence),
    deeds: await undoneDeeds(pool, evidence.deeds),
  };
}

/** Why the log does not tell all that was delivered; `null` when it does. */
function gapOf({ logSince, isLogCut }: Evidence, point: string): string | null {
  if (logSince === null) return "no log was given";
  if (logSince > point) return `it begins at ${logSince}`;
  return isLogCut ? "lines were dropped (log_lines_dropped)" : null;
}

function doubtOf(trace: DeliveryTrace | undefined, gap: string | null): string | null {
  if (trace === undefined) return gap === null ? null : "not in the log";
  if (trace.isUnclear) return "an attempt whose effects were not recorded";
  const partly = [...trace.open].find(([, word]) => /\(\d+ of \d+\)$/.test(word));
  // The others of its recipients have it, and the log does not say who.
  if (partly !== undefined) return `${partly[0]} failed for some of its recipients: ${partly[1]}`;
  if (trace.done.size > 0 && trace.open.size === 0) return null;
  return gap === null ? null : "not all of the log is there";
}

async function lostOf(pool: Pool, { acknowledged }: Evidence): Promise<Lost[]> {
  const byKey = Map.groupBy(acknowledged, ({ keyId }) => keyId);
  return await Promise.all([...byKey].map(async ([keyId, posts]) => {
    const key = /^\d{1,18}$/.test(keyId) ? await readKey(pool, keyId) : null;
    return {
      ...{ key_id: keyId, tenant: key?.tenant ?? null, source: key?.label ?? null },
      request_ids: posts.map(({ requestId }) => requestId),
    };
  }));
}

async function undoneDeeds(pool: Pool, rows: readonly ShippedRow[]): Promise<Deed[]> {
  const deeds: Deed[] = [];
  for (const row of rows) {
    if (await readAuditDigest(pool, row.id) === row.digest) continue;
    deeds.push({ ...row, again: await againOf(pool, row) });
  }
  return deeds;
}

async function againOf(pool: Pool, { action, subject: id, detail }: ShippedRow): Promise<Again | null> {
  const said = (detail === null ? null : JSON.parse(detail)) as Readonly<Record<string, unknown>> | null;
  const isNumber = /^\d{1,18}$/.test(id);
  if (action === "key.revoke" && isNumber) {
    const key = await readKey(pool, id);
    // One that was issued since is not there, and its number may be another's one day.
    if (key === null || key.tenant !== said?.tenant || key.label !== said?.label) return null;
    return { kind: "revoke", id, kept: [] };
  }
  if (action === "collision.erase" && isNumber) return { kind: "erase_collision", id, kept: [] };
  // Of a person the rows event.erase have the ids; of one event the run's own rows do.
  if (!isOfErasure(action) || !/^[0-9a-f]{20,}$/.test(id)) return null;
  return { kind: "erase", id, kept: Array.isArray(said?.kept) ? said.kept.map(String) : [] };
}

/** What an erasure notes: its beginning, each event, its end. */
function isOfErasure(action: string): boolean {
  return ["event.erase", "person.erase_begin", "person.erase"].includes(action);
}

/** What was put right. */
interface Applied {
  /** Events of which an effect was noted as done. */
  readonly noted: number;
  readonly held: readonly string[];
  readonly revoked: readonly string[];
  readonly erased: number;
}

/** Puts right what can be, and holds what may be repeated. */
async function apply(pool: Pool, found: Found): Promise<Applied> {
  const noted = await markEffectsDone(pool, found.done);
  const held = await holdEvents(pool, found.doubts.map(({ eventId }) => eventId));
  const revoked: string[] = [];
  let erased = 0;
  for (const { again } of found.deeds) {
    if (again?.kind === "revoke") {
      const revocation = await revokeKey(pool, again.id);
      if (revocation !== null && !revocation.before) revoked.push(again.id);
    } else if (again !== null && await eraseAgain(pool, again)) erased += 1;
  }
  const counts = {
    ...{ waiting: found.waiting, noted, held: held.length, revoked: revoked.length, erased },
    lost: postsOf(found.lost),
  };
  await noteRestore(pool, { point: found.point, counts });
  return { noted, held, revoked, erased };
}

async function eraseAgain(pool: Pool, { kind, id, kept }: Again): Promise<boolean> {
  const isEvent = kind === "erase";
  const run = await ErasureRun.begin(pool, { subject: isEvent ? id : `collision ${id}`, contacts: [] });
  const isErased = isEvent
    ? (await run.event(id, { seen: null, kept })).kind === "erased"
    : await run.collision(id);
  await run.end();
  return isErased;
}

function postsOf(lost: readonly Lost[]): number {
  return lost.reduce((sum, { request_ids: ids }) => sum + ids.length, 0);
}

// Lines that a person is shown of each kind; --json has all.
const shownMax = 20;

const restored: Command = {
  words: "restored",
  options: {
    journal: {
      value: "FILE",
      several: true,
      description: "logs of the processes, and what ctl audit export has printed; may be given several times",
    },
    point: {
      value: "TIME",
      description:
        "the moment that was restored to; left out, the server is asked, which knows until it stops",
    },
    apply: {
      description: "put right what can be, and hold what may be repeated; without it nothing is changed",
    },
  },
  summary: "After a restore of the database: tell what is lost, undone or may be repeated, and put it right",
  notes: `Run it before the service and the actions process are started. What happened after the moment of the
restore stands in two places that a restore leaves alone: the log, of every machine that ran a
process (journalctl -o cat -u 'lead-*'), and the shipped audit (ctl audit export).

By the log an event that waits was delivered since, in part or whole: with --apply its effects are
noted as done, so that they are not repeated. What the log does not cover, or leaves unclear,
may be repeated: it is named with the reason, and with --apply held among the dead letters.
Decide there, by event: ctl dead replay delivers it, ctl dead done says that the customer has it.

By the audit keys were revoked and people erased since: with --apply that is done again. All else that
operators did since is listed, to be done again by hand. What was accepted since is lost, and its
senders believe it delivered: the list has keys and request ids.`,
  prepare(input) {
    const files = input.options("journal");
    const isApplied = input.has("apply");
    const text = input.option("point");
    const point = text === undefined
      ? null
      : parseTime(text, { name: "--point", direction: "past", nowMs: Date.now() });
    return async (pool) => {
      const facts = await readRestoredFacts(pool);
      const at = point ?? facts.point;
      if (at === null) {
        throw new Refused(
          "This server does not know a moment that it was restored to, or was restarted since; --point TIME says it",
        );
      }
      if (isApplied && facts.processes > 0) {
        throw new Refused(
          `${facts.processes} connections of the service are open: stop it first; nothing was changed`,
        );
      }
      const evidence = await readEvidence(files, at);
      const found = await examine(pool, facts, at, evidence);
      return reply(found, isApplied ? await apply(pool, found) : null);
    };
  },
};

function reply(found: Found, applied: Applied | null): Reply {
  const { point, waiting, done, doubts, lost, deeds, warnings } = found;
  return {
    json: {
      point,
      applied: applied !== null,
      waiting,
      done: [...Map.groupBy(done, ({ eventId }) => eventId)]
        .map(([eventId, effects]) => ({ event_id: eventId, effects: effects.map(({ effect }) => effect) })),
      may_repeat: doubts.map(({ eventId, tenant, receivedAt, attempts, reason }) => ({
        ...{ event_id: eventId, tenant, received_at: receivedAt, attempts_made: attempts, reason },
      })),
      lost,
      deeds: deeds.map(({ at, actor, action, subject, detail, again }) => ({
        ...{ at, actor, action, subject },
        detail: detail === null ? null : new JsonText(detail),
        again: again?.kind ?? null,
      })),
      ...applied,
      warnings,
    },
    text: text(found, applied),
    warning: warnings.length === 0 ? undefined : warnings.join("\n"),
  };
}

function text({ point, waiting, waitingDone, doubts, lost, deeds }: Found, applied: Applied | null): string {
  const again = deeds.filter((deed) => deed.again !== null);
  // The beginning and the end of an erasure say nothing that its events do not.
  const byHand = deeds.filter((deed) => deed.again === null && !isOfErasure(deed.action));
  const posts = postsOf(lost);
  const parts = [
    `Restored to ${point}. ${
      applied === null ? "Nothing was changed; --apply puts right what can be." : "What can be put right, is."
    }`,
    waitingText(waiting, waitingDone, applied !== null),
    doubts.length === 0 ? "No event may be repeated." : [
      `${counted(doubts.length, "event")} may be repeated${
        applied === null
          ? "; --apply holds them"
          : ", and held: ctl dead replay EVENT_ID delivers, ctl dead done EVENT_ID does not"
      }:`,
      listed(doubts, {
        "EVENT ID": ({ eventId }) => eventId,
        "TENANT": ({ tenant }) => tenant,
        "RECEIVED (UTC)": ({ receivedAt }) => shortTime(receivedAt),
        "WHY": ({ reason }) => reason,
      }),
    ].join("\n"),
    posts === 0 ? "No answer 202 since then is in the log." : [
      `${counted(posts, "post")} since then ${posts === 1 ? "was" : "were"} answered 202 and ${
        posts === 1 ? "is" : "are"
      } lost. Ask the senders to post again what they sent since ${shortTime(point)}:`,
      listed(lost, {
        "KEY": ({ key_id: keyId }) => keyId,
        "TENANT": ({ tenant }) => tenant ?? "issued since, and gone",
        "SOURCE": ({ source }) => source ?? "-",
        ">POSTS": ({ request_ids: ids }) => String(ids.length),
        "REQUEST IDS": ({ request_ids: ids }) => ids.slice(0, 3).join(" ") + (ids.length > 3 ? " …" : ""),
      }),
    ].join("\n"),
  ];
  if (again.length > 0) {
    parts.push(
      `Undone by the restore, and ${applied === null ? "done again with --apply" : "done again"}:\n${
        deedTable(again)
      }`,
    );
  }
  if (byHand.length > 0) {
    parts.push(`Undone by the restore; to be done again by hand:\n${deedTable(byHand)}`);
  }
  return parts.join("\n\n");
}

function waitingText(waiting: number, done: number, isApplied: boolean): string {
  if (waiting === 0) return "Nothing waits to be delivered.";
  const wait = `${counted(waiting, "event")} ${waiting === 1 ? "waits" : "wait"} to be delivered`;
  if (done === 0) return `${wait}; by the log none had effects since.`;
  return `${wait}; by the log ${done} had effects since, which ${
    isApplied ? "are" : "--apply has"
  } noted as done and not repeated.`;
}

function deedTable(deeds: readonly Deed[]): string {
  return listed(deeds, {
    "WHEN (UTC)": ({ at }) => shortTime(at),
    "WHO": ({ actor }) => actor,
    "WHAT": ({ action }) => action,
    "TO": ({ subject }) => subject,
    "DETAIL": ({ detail }) => detail ?? "-",
  });
}

function listed<Row>(rows: readonly Row[], columns: Readonly<Record<string, (row: Row) => string>>): string {
  const lines = table(rows.slice(0, shownMax), "", columns);
  return rows.length > shownMax ? `${lines}\nand ${rows.length - shownMax} more; --json has all` : lines;
}

/** The command; it has no verb. */
export const restoredCommands: readonly Command[] = [restored];
