/**
 * The removal of what is stored of a person. Each call is one short transaction; what finds out who is meant reads
 * only.
 *
 * @module
 */

import type { StoredTexts } from "../../lead/person.ts";
import type { Pool } from "../sql.ts";
import { adminDeadlineMs } from "./pool.ts";

/** What the delivery of an erased event was at. `held`: a submission that waits for its release. */
export type ErasedState = "pending" | "sending" | "delivered" | "dead" | "held";

/** A candidate: the id of an event, with what is stored of it or was kept aside under its Idempotency-Key. */
export interface Candidate {
  readonly eventId: string;
  readonly texts: StoredTexts;
}

/** The same of a collision. */
export interface CollisionCandidate extends Candidate {
  readonly id: string;
}

/** A part of the table that was looked at. */
export interface Page<Found> {
  /** Go on after it; `null` when this was the end. */
  readonly edge: string | null;
  readonly found: readonly Found[];
}

// Bounds what one statement reads: bodies have 64 KiB at most, and seldom more than one.
const pageRows = 2_000;

interface TextsRow {
  readonly event_id: string;
  readonly lead: string | null;
  readonly extra: string | null;
  readonly raw: string | null;
  readonly idempotency_key?: string | null;
  readonly contact?: string | null;
}

function candidate(row: TextsRow): Candidate {
  const { lead, extra, raw, contact = null, idempotency_key: idempotencyKey = null } = row;
  return { eventId: row.event_id, texts: { lead, extra, raw, contact, idempotencyKey } };
}

/** The next events whose texts match a pattern, in the order of their ids. */
export async function findCandidates(
  pool: Pool,
  { after, pattern }: { readonly after: string; readonly pattern: string },
): Promise<Page<Candidate>> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql<(TextsRow & { edge: string })[]>`
      select * from erase_candidates(${after}, ${pageRows}, ${pattern})`);
  return { edge: rows[0]?.edge ?? null, found: rows.filter((row) => row.event_id !== null).map(candidate) };
}

/** The same among what was kept aside. */
export async function findCollisionCandidates(
  pool: Pool,
  { after, pattern }: { readonly after: string; readonly pattern: string },
): Promise<Page<CollisionCandidate>> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql<(TextsRow & { edge: string; id: string })[]>`
      select * from erase_candidate_collisions(${after}::bigint, ${pageRows}, ${pattern})`);
  return {
    edge: rows[0]?.edge ?? null,
    found: rows.filter((row) => row.id !== null).map((row) => ({ ...candidate(row), id: row.id })),
  };
}

/** What was kept aside under the Idempotency-Key of an event, and is still there. */
export async function readCollisionsOf(pool: Pool, eventId: string): Promise<CollisionCandidate[]> {
  const rows = await pool.run(adminDeadlineMs, (sql) =>
    sql<(TextsRow & { id: string })[]>`
      select c.id, c.event_id, c.lead::text as lead, c.extra, c.raw
      from collision as c where c.event_id = ${eventId} and c.content_digest is not null order by c.id`);
  return rows.map((row) => ({ ...candidate(row), id: row.id }));
}

/** Whether there is such an event, and whether its content is still there. */
export async function findEvent(pool: Pool, eventId: string): Promise<"stored" | "removed" | null> {
  const [row] = await pool.run(
    adminDeadlineMs,
    (sql) =>
      sql<{ removed: boolean }[]>`
      select e.removed_at is not null as removed from event as e where e.event_id = ${eventId}`,
  );
  if (row === undefined) return null;
  return row.removed ? "removed" : "stored";
}

/** What became of one event. */
export type Erased =
  | { readonly kind: "erased"; readonly state: ErasedState; readonly collisions: number }
  /** Its content went before; `collisions`: what was still kept aside and has gone now. */
  | { readonly kind: "gone"; readonly collisions: number }
  /** A collision has come that was not judged; nothing was done. */
  | { readonly kind: "changed" };

/** One run of the operator's command: it leaves one row in the audit. */
export class ErasureRun {
  readonly #pool: Pool;
  readonly #subject: string | null;
  #auditId: string | null = null;

  /** `subject` stands in the audit; `null`: the number of events. */
  constructor(pool: Pool, subject: string | null) {
    this.#pool = pool;
    this.#subject = subject;
  }

  /**
   * Erases an event. `seen` are its collisions that were judged, `kept` those of them that stay; without `seen` all
   * go.
   */
  async event(
    eventId: string,
    collisions: { readonly seen: readonly string[] | null; readonly kept: readonly string[] },
  ): Promise<Erased> {
    const seen = collisions.seen === null ? null : [...collisions.seen];
    const [row] = await this.#pool.run(adminDeadlineMs, (sql) =>
      sql<
        { outcome: Erased["kind"]; state: ErasedState; collisions: number; audit_id: string | null }[]
      >`
        select * from erase_event(
          ${eventId}, ${seen}::bigint[], ${[...collisions.kept]}::bigint[], ${this.#auditId}::bigint,
          ${this.#subject})`);
    if (row === undefined) return { kind: "gone", collisions: 0 };
    this.#auditId = row.audit_id;
    const { outcome: kind } = row;
    if (kind === "changed") return { kind };
    return kind === "erased"
      ? { kind, state: row.state, collisions: row.collisions }
      : { kind, collisions: row.collisions };
  }

  /** Erases what was kept aside, and leaves the event; `false` when its content went before. */
  async collision(id: string): Promise<boolean> {
    const [row] = await this.#pool.run(
      adminDeadlineMs,
      (sql) =>
        sql<{ erased: boolean; audit_id: string | null }[]>`
        select * from erase_collision(${id}::bigint, ${this.#auditId}::bigint)`,
    );
    this.#auditId = row?.audit_id ?? null;
    return row?.erased ?? false;
  }

  /** Notes a run that has found nothing, too. */
  async end(): Promise<void> {
    if (this.#auditId !== null) return;
    await this.#pool.run(adminDeadlineMs, (sql) => sql`select note_erasure(null, ${this.#subject}, '{}')`);
  }
}
