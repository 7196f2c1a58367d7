/**
 * What is known outside of the database of the time after the moment that it was restored to: the log of our processes,
 * and the audit's rows that were shipped. Both are JSON lines, so one file may have them mixed.
 *
 * @module
 */

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { isAuditRow, type ShippedRow } from "./audit_file.ts";
import { Refused } from "./command.ts";

/** What the log tells of the deliveries of an event. */
export interface DeliveryTrace {
  /** Effects that were done, by kind. */
  readonly done: Set<string>;
  /** Effects that are not known to be done, with the word of the last attempt. */
  readonly open: Map<string, string>;
  /** After the last line that tells of its effects one could not be recorded: which were done is not known. */
  isUnclear: boolean;
}

/** A post that was answered 202. */
export interface Acknowledged {
  readonly at: string;
  readonly keyId: string;
  readonly requestId: string;
}

/** All of it. Times are ISO 8601, UTC. */
export interface Evidence {
  /** Lines of our processes' logs. */
  logLines: number;
  /** The first of them. */
  logSince: string | null;
  /** Lines were lost after the moment of the restore. */
  isLogCut: boolean;
  readonly deliveries: Map<string, DeliveryTrace>;
  readonly acknowledged: Acknowledged[];
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
export async function readEvidence(files: readonly string[], point: string): Promise<Evidence> {
  const evidence: Evidence = {
    logLines: 0,
    logSince: null,
    isLogCut: false,
    deliveries: new Map(),
    acknowledged: [],
    deeds: [],
  };
  for (const file of files) {
    try {
      for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
        take(evidence, parsed(line), Date.parse(point));
      }
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
  if (typeof line.event !== "string") return;
  // This one has no time: it stands where the lines are missing.
  if (line.event === "log_lines_dropped") evidence.isLogCut = true;
  if (typeof line.time !== "string") return;
  evidence.logLines += 1;
  if (evidence.logSince === null || line.time < evidence.logSince) evidence.logSince = line.time;
  const atMs = Date.parse(line.time);
  if (!(atMs > pointMs - skewMs)) return;
  if (line.event === "request" && line.status === 202 && atMs > pointMs) {
    evidence.acknowledged.push({
      at: line.time,
      keyId: String(line.key_id),
      requestId: String(line.request_id),
    });
  }
  if (typeof line.event_id !== "string") return;
  if (line.event === "delivery") takeDelivery(traceOf(evidence, line.event_id), line);
  if (line.event === "cannot_work" || line.event === "fault") {
    traceOf(evidence, line.event_id).isUnclear = true;
  }
}

function traceOf({ deliveries }: Evidence, eventId: string): DeliveryTrace {
  const trace = deliveries.get(eventId) ?? { done: new Set(), open: new Map(), isUnclear: false };
  deliveries.set(eventId, trace);
  return trace;
}

// The members of the line `delivery` that are no effects; the kinds of these are single words (sql/0009_actions.sql).
const others = ["time", "level", "event", "tenant", "kind", "attempt", "status"];

function takeDelivery(trace: DeliveryTrace, line: Readonly<Record<string, unknown>>): void {
  trace.isUnclear = false;
  for (const [effect, word] of Object.entries(line)) {
    if (others.includes(effect) || !/^[a-z]{1,20}$/.test(effect) || typeof word !== "string") continue;
    if (word === "done") {
      trace.done.add(effect);
      trace.open.delete(effect);
    } else if (word.startsWith("failed: ")) {
      trace.open.set(effect, word.slice("failed: ".length));
    }
  }
}
