/** Defines `ctl restored`. */

import { type ExportedRow, isAuditRow, readLines } from "./audit.ts";
import { type Command, Refused, type Reply } from "./command.ts";
import { counted, JsonText, linesMax, shortTime, table } from "./terminal.ts";
import { parseTime } from "./values.ts";
import { listKeys, revokeKey } from "#src/store/operator/api_keys.ts";
import { readAuditDigest } from "#src/store/operator/audit.ts";
import { ErasureRun } from "#src/store/operator/erasure.ts";
import {
  auditRestore,
  holdEvents,
  markEffectsDone,
  readRestoredFacts,
  readWaiting,
  type RestoredFacts,
  type WaitingEvent,
} from "#src/store/operator/restored.ts";
import type { Pool } from "#src/store/pool.ts";

/** What the log shows about an event's deliveries. */
interface DeliveryTrace {
  /** The kinds of effects that were done. */
  readonly done: Set<string>;
  /** The kinds of effects that failed and were not done later, each with the reason for its last failure. */
  readonly failed: Map<string, string>;
  /** Whether the last attempt ended with an error instead of recorded effects, so that some may have been done. */
  isUnclear: boolean;
}

/** What the files show about the time after the restore point. Times are ISO 8601, UTC. */
interface Evidence {
  /** The time of the first log line; `null` without a log. */
  logSince: string | null;
  /** Whether the log dropped lines. */
  hasDroppedLines: boolean;
  readonly deliveries: Map<string, DeliveryTrace>;
  /** The posts whose response was a 202. */
  readonly acknowledged: { readonly keyId: string; readonly requestId: string }[];
  /** In order of id. */
  readonly auditRows: ExportedRow[];
}

// Allows for differences between clocks. Effects from before the restore point are already in the database; marking them
// again is harmless.
const clockSkewMs = 5_000;
// An audit row's time precedes its commit.
const auditCommitLagMs = 60_000;

/** @throws {Refused} if a file cannot be read */
async function readEvidence(files: readonly string[], point: string): Promise<Evidence> {
  const evidence: Evidence = {
    logSince: null,
    hasDroppedLines: false,
    deliveries: new Map(),
    acknowledged: [],
    auditRows: [],
  };
  for (const file of files) {
    try {
      for await (const line of readLines(file)) addLine(evidence, parseLine(line), Date.parse(point));
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === undefined) throw error;
      throw new Refused(`${file} cannot be read: ${code}`);
    }
  }
  evidence.auditRows.sort((a, b) => a.id - b.id);
  return evidence;
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The journal also contains systemd's own lines.
    return null;
  }
}

function addLine(evidence: Evidence, value: unknown, pointMs: number): void {
  if (isAuditRow(value)) {
    if (Date.parse(value.at) > pointMs - auditCommitLagMs) evidence.auditRows.push(value);
    return;
  }
  if (value === null || typeof value !== "object") return;
  const line = value as Readonly<Record<string, unknown>>;
  // This log line has no time.
  if (line.event === "log_lines_dropped") evidence.hasDroppedLines = true;
  if (typeof line.event !== "string" || typeof line.time !== "string") return;
  if (evidence.logSince === null || line.time < evidence.logSince) evidence.logSince = line.time;
  const atMs = Date.parse(line.time);
  if (!(atMs > pointMs - clockSkewMs)) return;
  if (line.event === "request" && line.status === 202 && atMs > pointMs) {
    evidence.acknowledged.push({ keyId: String(line.key_id), requestId: String(line.request_id) });
  }
  if (typeof line.event_id !== "string") return;
  const isUnclear = line.event === "cannot_work" || line.event === "fault";
  if (!isUnclear && line.event !== "delivery") return;
  const trace = evidence.deliveries.get(line.event_id) ??
    { done: new Set(), failed: new Map(), isUnclear };
  evidence.deliveries.set(line.event_id, trace);
  trace.isUnclear = isUnclear;
  if (!isUnclear) addDelivery(trace, line);
}

// The members of a `delivery` line that are not effects, although their names could be kinds of effects.
const nonEffectMembers = ["time", "level", "event", "tenant", "kind", "attempt", "status"];

function addDelivery(trace: DeliveryTrace, line: Readonly<Record<string, unknown>>): void {
  for (const [effect, state] of Object.entries(line)) {
    if (nonEffectMembers.includes(effect) || !/^[a-z]{1,20}$/.test(effect) || typeof state !== "string") {
      continue;
    }
    if (state === "done") {
      trace.done.add(effect);
      trace.failed.delete(effect);
    } else if (state.startsWith("failed: ")) trace.failed.set(effect, state.slice("failed: ".length));
  }
}

/** A waiting event that could be delivered twice, and why. */
interface PossibleRepeat extends WaitingEvent {
  readonly reason: string;
}

/** An operator action that the restore undid. */
interface Operation extends ExportedRow {
  /** How `--apply` redoes the action; `null` if it cannot. */
  readonly redo: Redo | null;
}

interface Redo {
  readonly kind: "revoke" | "erase" | "erase_collision" | "erase_posts";
  /** The id of the key, event or collision; for `erase_posts`, the number of erased events. */
  readonly id: string;
  /** The collisions of the event that are not erased. */
  readonly kept: readonly string[];
}

/** A key whose acknowledged posts are lost, with the member names in the JSON output. */
interface LostPosts {
  readonly key_id: string;
  readonly tenant: string | null;
  readonly source: string | null;
  readonly request_ids: readonly string[];
}

interface Findings {
  readonly point: string;
  /** The number of waiting events. */
  readonly waiting: number;
  /** The number of waiting events for which the log shows effects that were done. */
  readonly waitingDone: number;
  readonly done: readonly { readonly eventId: string; readonly effect: string }[];
  readonly possibleRepeats: readonly PossibleRepeat[];
  readonly lost: readonly LostPosts[];
  readonly operations: readonly Operation[];
  readonly warnings: readonly string[];
}

/** Finds lost posts, undone operations and events that could be delivered twice; changes nothing. */
async function examine(
  pool: Pool,
  facts: RestoredFacts,
  point: string,
  evidence: Evidence,
): Promise<Findings> {
  const gap = logGap(evidence, point);
  const possibleRepeats: PossibleRepeat[] = [];
  let [waiting, waitingDone] = [0, 0];
  for await (const event of readWaiting(pool)) {
    waiting += 1;
    const trace = evidence.deliveries.get(event.eventId);
    if (trace !== undefined && trace.done.size > 0) waitingDone += 1;
    const reason = repeatReason(trace, gap);
    if (reason !== null) possibleRepeats.push({ ...event, reason });
  }
  const done = [...evidence.deliveries].flatMap(([eventId, trace]) =>
    [...trace.done].map((effect) => ({ eventId, effect }))
  );
  const { newestEventAt, now } = facts;
  const warnings = [
    ...(gap === null ? [] : [`The log does not show everything delivered since then: ${gap}.`]),
    ...(evidence.auditRows.length > 0 ? [] : [
      "The files have no audit rows after that time. Only the file of ctl audit export shows what operators did since then, such as revoking keys or erasing people.",
    ]),
    ...(newestEventAt === null || newestEventAt <= now ? [] : [
      `The server's clock shows ${now}, but the newest event is from ${newestEventAt}: set the clock before you start anything.`,
    ]),
  ];
  return {
    point,
    waiting,
    waitingDone,
    done,
    possibleRepeats,
    warnings,
    lost: await findLostPosts(pool, evidence),
    operations: await undoneOperations(pool, evidence.auditRows),
  };
}

/** Returns why the log does not show everything delivered since `point`, or `null`. */
function logGap({ logSince, hasDroppedLines }: Evidence, point: string): string | null {
  if (logSince === null) return "no log was given";
  if (logSince > point) return `it begins at ${logSince}`;
  return hasDroppedLines ? "it has lost lines (log_lines_dropped)" : null;
}

function repeatReason(trace: DeliveryTrace | undefined, gap: string | null): string | null {
  if (trace === undefined) return gap === null ? null : "not in the log";
  if (trace.isUnclear) return "the effects of an attempt were not recorded";
  const partly = [...trace.failed].find(([, reason]) => /\(\d+ of \d+\)$/.test(reason));
  // The log does not show which recipients already have the event.
  if (partly !== undefined) return `${partly[0]} failed for some of its recipients: ${partly[1]}`;
  if (trace.done.size > 0 && trace.failed.size === 0) return null;
  return gap === null ? null : "the log is incomplete";
}

async function findLostPosts(pool: Pool, { acknowledged }: Evidence): Promise<LostPosts[]> {
  const keys = new Map((await listKeys(pool, null)).map((key) => [key.id, key]));
  return [...Map.groupBy(acknowledged, ({ keyId }) => keyId)].map(([keyId, posts]) => ({
    key_id: keyId,
    tenant: keys.get(keyId)?.tenant ?? null,
    source: keys.get(keyId)?.label ?? null,
    request_ids: posts.map(({ requestId }) => requestId),
  }));
}

async function undoneOperations(pool: Pool, rows: readonly ExportedRow[]): Promise<Operation[]> {
  const operations: Operation[] = [];
  const keys = await listKeys(pool, null);
  for (const row of rows) {
    if (await readAuditDigest(pool, row.id) === row.digest) continue;
    operations.push({ ...row, redo: findRedo(row, keys) });
  }
  return operations;
}

function findRedo(
  { action, subject: id, detail }: ExportedRow,
  keys: Awaited<ReturnType<typeof listKeys>>,
): Redo | null {
  const parsed = (detail === null ? null : JSON.parse(detail)) as Readonly<Record<string, unknown>> | null;
  if (action === "key.revoke") {
    const key = keys.find((one) => one.id === id);
    // A key issued after the restore point is gone, and a new key may get its id.
    if (key === undefined || key.tenant !== parsed?.tenant || key.label !== parsed?.label) return null;
    return { kind: "revoke", id, kept: [] };
  }
  if (action === "collision.erase" && /^\d{1,18}$/.test(id)) return { kind: "erase_collision", id, kept: [] };
  // The contact is not known anymore, so the identifiers of all posts that may contain one are erased.
  if (action === "person.erase" && Number(parsed?.posts) > 0) return { kind: "erase_posts", id, kept: [] };
  // Erasing a person writes an event.erase row per event; erasing one event writes two rows, which both name the event.
  if (!isErasure(action) || !/^[0-9a-f]{20,}$/.test(id)) return null;
  return { kind: "erase", id, kept: Array.isArray(parsed?.kept) ? parsed.kept.map(String) : [] };
}

/** Whether an erasure audits this action: at its start, for each event of a person, or at its end. */
function isErasure(action: string): boolean {
  return ["event.erase", "person.erase_begin", "person.erase"].includes(action);
}

/** The repairs that were made, with the member names in the JSON output. */
interface Repairs {
  /** The number of events whose effects were marked as done. */
  readonly noted: number;
  readonly held: readonly string[];
  readonly revoked: readonly string[];
  readonly erased: number;
}

/** Applies the repairs, and holds the events that could be delivered twice. */
async function apply(pool: Pool, findings: Findings): Promise<Repairs> {
  const noted = await markEffectsDone(pool, findings.done);
  const held = await holdEvents(pool, findings.possibleRepeats.map(({ eventId }) => eventId));
  const revoked: string[] = [];
  let erased = 0;
  for (const { redo } of findings.operations) {
    if (redo === null) continue;
    if (redo.kind === "revoke") {
      const revocation = await revokeKey(pool, redo.id);
      if (revocation !== null && !revocation.wasRevoked) revoked.push(redo.id);
    } else if (await eraseAgain(pool, { ...redo, kind: redo.kind })) erased += 1;
  }
  const counts = {
    waiting: findings.waiting,
    noted,
    held: held.length,
    revoked: revoked.length,
    erased,
    lost: countPosts(findings.lost),
  };
  await auditRestore(pool, { point: findings.point, counts });
  return { noted, held, revoked, erased };
}

async function eraseAgain(
  pool: Pool,
  { kind, id, kept }: Redo & { readonly kind: Exclude<Redo["kind"], "revoke"> },
): Promise<boolean> {
  const subject = { erase: id, erase_collision: `collision ${id}`, erase_posts: "logged posts" }[kind];
  const run = await ErasureRun.start(pool, { subject, contacts: [] });
  const isErased = kind === "erase"
    ? (await run.eraseEvent(id, { reviewed: null, kept })).kind === "erased"
    : kind === "erase_collision"
    ? await run.eraseCollision(id)
    : await run.erasePosts(null) > 0;
  await run.end();
  return isErased;
}

function countPosts(lost: readonly LostPosts[]): number {
  return lost.reduce((sum, { request_ids: ids }) => sum + ids.length, 0);
}

const restored: Command = {
  words: "restored",
  options: {
    journal: {
      value: "FILE",
      isRepeatable: true,
      description: "a log of the processes, or a file of ctl audit export; repeatable",
    },
    point: {
      value: "TIME",
      description:
        "the time that you restored to; default: ask the server, which knows it until it is stopped",
    },
    apply: {
      description: "repair what can be repaired, and hold events that could be delivered twice",
    },
  },
  summary: "After a database restore, show what is lost, undone or could be delivered twice, and repair it",
  notes: `Run it before you start the service and the actions process. Two records survive a restore and show
what happened after the time that you restored to: the log of every machine that ran a process
(journalctl -o cat -u 'lead-*'), and the copy of the audit (ctl audit export).

If the log shows that a waiting event was delivered since then, in part or in full, --apply marks
those effects as done, so that they are not repeated. An event that the log does not cover, or for
which the log is unclear, could be delivered twice: it is listed with the reason, and --apply moves it to
the dead letters. Decide for each: ctl dead replay delivers it, ctl dead done marks it as done.

If the audit shows that keys were revoked or people erased since then, --apply does so again. All
other operator actions since then are listed for you to repeat by hand. Leads accepted since then are
lost, although their senders got a 202: the list shows keys and request ids.`,
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
          "The server does not know the time that it was restored to, or has been restarted since; pass --point TIME",
        );
      }
      if (isApplied && facts.processes > 0) {
        throw new Refused(
          `The service or the actions process is connected (${
            counted(facts.processes, "connection")
          }); stop both first. Nothing was changed`,
        );
      }
      const evidence = await readEvidence(files, at);
      const findings = await examine(pool, facts, at, evidence);
      return reply(findings, isApplied ? await apply(pool, findings) : null);
    };
  },
};

function reply(findings: Findings, applied: Repairs | null): Reply {
  const { point, waiting, done, possibleRepeats, lost, operations, warnings } = findings;
  return {
    json: {
      point,
      applied: applied !== null,
      waiting,
      done: [...Map.groupBy(done, ({ eventId }) => eventId)]
        .map(([eventId, effects]) => ({ event_id: eventId, effects: effects.map(({ effect }) => effect) })),
      may_repeat: possibleRepeats.map(({ eventId, tenant, receivedAt, attempts, reason }) => ({
        event_id: eventId,
        tenant,
        received_at: receivedAt,
        attempts_made: attempts,
        reason,
      })),
      lost,
      operations: operations.map(({ at, actor, action, subject, detail, redo }) => ({
        at,
        actor,
        action,
        subject,
        detail: detail === null ? null : new JsonText(detail),
        again: redo?.kind ?? null,
      })),
      ...applied,
      warnings,
    },
    text: findingsText(findings, applied),
    warning: warnings.length === 0 ? undefined : warnings.join("\n"),
  };
}

function findingsText(
  { point, waiting, waitingDone, possibleRepeats, lost, operations }: Findings,
  applied: Repairs | null,
): string {
  const redone = operations.filter(({ redo }) => redo !== null);
  // The rows for an erasure's start and end need no repeat, because each erased event has its own row.
  const byHand = operations.filter(({ redo, action }) => redo === null && !isErasure(action));
  const posts = countPosts(lost);
  const parts = [
    `Restored to ${point}. ${
      applied === null
        ? "Nothing was changed; --apply repairs what can be repaired."
        : "Everything that can be repaired was repaired."
    }`,
    waitingText(waiting, waitingDone, applied !== null),
    possibleRepeats.length === 0 ? "No event can be delivered twice." : [
      `${counted(possibleRepeats.length, "event")} could be delivered twice${
        applied === null
          ? "; --apply holds them"
          : " and are now dead letters; ctl dead replay EVENT_ID delivers, ctl dead done EVENT_ID does not"
      }:`,
      firstRows(possibleRepeats, {
        "EVENT ID": ({ eventId }) => eventId,
        "TENANT": ({ tenant }) => tenant,
        "RECEIVED (UTC)": ({ receivedAt }) => shortTime(receivedAt),
        "WHY": ({ reason }) => reason,
      }),
    ].join("\n"),
    posts === 0 ? "The log shows no 202 since then." : [
      `${counted(posts, "post")} since then ${posts === 1 ? "was" : "were"} answered 202 and ${
        posts === 1 ? "is" : "are"
      } lost. Ask the senders to repeat their posts since ${shortTime(point)}:`,
      firstRows(lost, {
        "KEY": ({ key_id: keyId }) => keyId,
        "TENANT": ({ tenant }) => tenant ?? "the key is lost too",
        "SOURCE": ({ source }) => source ?? "-",
        ">POSTS": ({ request_ids: ids }) => String(ids.length),
        "REQUEST IDS": ({ request_ids: ids }) => ids.slice(0, 3).join(" ") + (ids.length > 3 ? " …" : ""),
      }),
    ].join("\n"),
  ];
  if (redone.length > 0) {
    parts.push(
      `Undone by the restore, and ${applied === null ? "repeated by --apply" : "repeated"}:\n${
        operationTable(redone)
      }`,
    );
  }
  if (byHand.length > 0) {
    parts.push(`Undone by the restore; repeat these by hand:\n${operationTable(byHand)}`);
  }
  return parts.join("\n\n");
}

function waitingText(waiting: number, done: number, isApplied: boolean): string {
  if (waiting === 0) return "No events are waiting for delivery.";
  const wait = `${counted(waiting, "event")} ${waiting === 1 ? "is" : "are"} waiting for delivery`;
  if (done === 0) return `${wait}; the log shows no effects since then.`;
  return `${wait}; the log shows effects of ${done} since then, which ${
    isApplied ? "are marked" : "--apply marks"
  } as done, so that they are not repeated.`;
}

function operationTable(operations: readonly Operation[]): string {
  return firstRows(operations, {
    "WHEN (UTC)": ({ at }) => shortTime(at),
    "WHO": ({ actor }) => actor,
    "WHAT": ({ action }) => action,
    "SUBJECT": ({ subject }) => subject,
    "DETAIL": ({ detail }) => detail ?? "-",
  });
}

function firstRows<Row>(
  rows: readonly Row[],
  columns: Readonly<Record<string, (row: Row) => string>>,
): string {
  const lines = table(rows.slice(0, linesMax), "", columns);
  return rows.length > linesMax ? `${lines}\nand ${rows.length - linesMax} more; --json lists all` : lines;
}

export const restoredCommands: readonly Command[] = [restored];
