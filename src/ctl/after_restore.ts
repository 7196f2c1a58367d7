/**
 * What follows from a restore of the database to an earlier moment, and how it is put right; for `ctl restored`.
 *
 * @module
 */

import { readAuditDigest } from "#src/store/operator/audit_chain.ts";
import { revokeKey } from "#src/store/operator/api_keys.ts";
import { ErasureRun } from "#src/store/operator/erasure.ts";
import {
  holdEvents,
  markEffectsDone,
  noteRestore,
  readKey,
  readWaiting,
  type RestoredFacts,
  type WaitingEvent,
} from "#src/store/operator/restored.ts";
import type { Pool } from "#src/store/pool.ts";
import type { ShippedRow } from "./audit_file.ts";
import type { DeliveryTrace, Evidence } from "./evidence.ts";

/** An event that waits, and why it may be repeated. */
export interface Doubt extends WaitingEvent {
  readonly reason: string;
}

/** What an operator did after the moment of the restore. */
export interface Deed extends ShippedRow {
  readonly again: Again | null;
}

/** What is done again by the command. */
type Again =
  | { readonly kind: "revoke"; readonly keyId: string }
  | { readonly kind: "erase"; readonly eventId: string; readonly kept: readonly string[] }
  | { readonly kind: "erase_collision"; readonly id: string };

/** The senders whose acknowledged leads are lost. */
export interface Lost {
  readonly keyId: string;
  readonly tenant: string | null;
  readonly label: string | null;
  readonly requestIds: readonly string[];
}

/** What is found out after a restore. */
export interface Found {
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
export async function examine(
  pool: Pool,
  { facts, point, evidence }: {
    readonly facts: RestoredFacts;
    readonly point: string;
    readonly evidence: Evidence;
  },
): Promise<Found> {
  const gap = gapOf(evidence, point);
  const doubts: Doubt[] = [];
  let waiting = 0;
  let waitingDone = 0;
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
  const warnings: string[] = [];
  if (gap !== null) warnings.push(`The log does not tell what was delivered since: ${gap}.`);
  if (evidence.deeds.length === 0) {
    warnings.push(
      "No row of the audit after that moment was given: what operators did since, such as revoking keys or erasing people, is known only from the file of ctl audit export.",
    );
  }
  if (facts.newestEventAt !== null && facts.newestEventAt > facts.now) {
    warnings.push(
      `The server's clock says ${facts.now}, and the newest event is of ${facts.newestEventAt}: set the clock before you start anything.`,
    );
  }
  return {
    ...{ point, waiting, waitingDone, done, doubts, warnings },
    lost: await lostOf(pool, evidence),
    deeds: await undoneDeeds(pool, evidence.deeds),
  };
}

/** Why the log does not tell all that was delivered; `null` when it does. */
function gapOf({ logLines, logSince, isLogCut }: Evidence, point: string): string | null {
  if (logLines === 0 || logSince === null) return "no log was given";
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
      keyId,
      tenant: key?.tenant ?? null,
      label: key?.label ?? null,
      requestIds: posts.map(({ requestId }) => requestId),
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

async function againOf(pool: Pool, { action, subject, detail }: ShippedRow): Promise<Again | null> {
  const said = (detail === null ? null : JSON.parse(detail)) as Readonly<Record<string, unknown>> | null;
  if (action === "key.revoke" && /^\d{1,18}$/.test(subject)) {
    const key = await readKey(pool, subject);
    // One that was issued since is not there, and its number may be another's one day.
    if (key === null || key.tenant !== said?.tenant || key.label !== said?.label) return null;
    return { kind: "revoke", keyId: subject };
  }
  if (action === "collision.erase" && /^\d{1,18}$/.test(subject)) {
    return { kind: "erase_collision", id: subject };
  }
  // Of a person the rows event.erase have the ids; of one event the run's own rows do.
  const isErasure = action === "event.erase" || action === "person.erase_begin" || action === "person.erase";
  if (!isErasure || !/^[0-9a-f]{20,}$/.test(subject)) return null;
  const kept = Array.isArray(said?.kept) ? said.kept.map(String) : [];
  return { kind: "erase", eventId: subject, kept };
}

/** What was put right. */
export interface Applied {
  /** Events of which an effect was noted as done. */
  readonly noted: number;
  readonly held: readonly string[];
  readonly revoked: readonly string[];
  readonly erased: number;
}

/** Puts right what can be, and holds what may be repeated. */
export async function apply(pool: Pool, found: Found): Promise<Applied> {
  const noted = await markEffectsDone(pool, found.done);
  const held = await holdEvents(pool, found.doubts.map(({ eventId }) => eventId));
  const revoked: string[] = [];
  let erased = 0;
  for (const { again } of found.deeds) {
    if (again === null) continue;
    if (again.kind === "revoke") {
      const revocation = await revokeKey(pool, again.keyId);
      if (revocation !== null && !revocation.before) revoked.push(again.keyId);
    } else if (await eraseAgain(pool, again)) erased += 1;
  }
  const counts = {
    ...{ waiting: found.waiting, noted, held: held.length, revoked: revoked.length, erased },
    lost: found.lost.reduce((sum, { requestIds }) => sum + requestIds.length, 0),
  };
  await noteRestore(pool, { point: found.point, counts });
  return { noted, held, revoked, erased };
}

async function eraseAgain(pool: Pool, again: Exclude<Again, { kind: "revoke" }>): Promise<boolean> {
  const subject = again.kind === "erase" ? again.eventId : `collision ${again.id}`;
  const run = await ErasureRun.begin(pool, { subject, contacts: [] });
  const isErased = again.kind === "erase"
    ? (await run.event(again.eventId, { seen: null, kept: again.kept })).kind === "erased"
    : await run.collision(again.id);
  await run.end();
  return isErased;
}
