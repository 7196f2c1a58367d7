/**
 * The removal of what is stored of a person. Each call is one short transaction; what finds out who is meant reads
 * only.
 *
 * @module
 */

import { randomUUID } from "node:crypto";
import { limits } from "../../contract/limits.ts";
import type { StoredTexts } from "../../lead/person.ts";
import type { Pool } from "../pool.ts";
import { ask, askOne } from "./admin_pool.ts";

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
interface Batch<Found> {
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
): Promise<Batch<Candidate>> {
  const rows = await ask(pool, (sql) =>
    sql<(TextsRow & { edge: string })[]>`
      select * from erase_candidates(${after}, ${pageRows}, ${pattern})`);
  return { edge: rows[0]?.edge ?? null, found: rows.filter((row) => row.event_id !== null).map(candidate) };
}

/** The same among what was kept aside. */
export async function findCollisionCandidates(
  pool: Pool,
  { after, pattern }: { readonly after: string; readonly pattern: string },
): Promise<Batch<CollisionCandidate>> {
  const rows = await ask(pool, (sql) =>
    sql<(TextsRow & { edge: string; id: string })[]>`
      select * from erase_candidate_collisions(${after}::bigint, ${pageRows}, ${pattern})`);
  return {
    edge: rows[0]?.edge ?? null,
    found: rows.filter((row) => row.id !== null).map((row) => ({ ...candidate(row), id: row.id })),
  };
}

/** What was kept aside under the Idempotency-Key of an event, and is still there. */
export async function readCollisionsOf(pool: Pool, eventId: string): Promise<CollisionCandidate[]> {
  const rows = await ask(pool, (sql) =>
    sql<(TextsRow & { id: string })[]>`
      select c.id, c.event_id, c.lead::text as lead, c.extra, c.raw
      from collision as c where c.event_id = ${eventId} and c.content_digest is not null order by c.id`);
  return rows.map((row) => ({ ...candidate(row), id: row.id }));
}

/** Whether there is such an event, and whether its content is still there. */
export async function findEvent(pool: Pool, eventId: string): Promise<"stored" | "removed" | null> {
  const row = await askOne(pool, (sql) =>
    sql<{ removed: boolean }[]>`
      select e.removed_at is not null as removed from event as e where e.event_id = ${eventId}`);
  if (row === null) return null;
  return row.removed ? "removed" : "stored";
}

/** What became of one event. */
type Erased =
  | { readonly kind: "erased"; readonly state: ErasedState; readonly collisions: number }
  /** Its content went before; `collisions`: what was still kept aside and has gone now. */
  | { readonly kind: "gone"; readonly collisions: number }
  /** A collision has come that was not judged; nothing was done. */
  | { readonly kind: "changed" };

/**
 * How long a tombstone stays: whatever had arrived when the erasure ended has been accepted or given up by then. The
 * request's bound, the commit's deadline, and half a minute in which a server that stood still may begin a statement.
 */
const aliveMs = limits.requestTimeoutMs + 10_000 + 30_000;
// Of a tombstone, while the run goes on: longer than a statement of it may take. A run that is cut short lets go then.
const leaseMs = 30_000;
const renewAfterMs = 5_000;
// A batch that was under way when a run began has a time of acceptance that is at most so long before: it is given up
// after 9 s.
const batchMsMax = 10_000;

/**
 * One run of the operator's command. It leaves two rows in the audit: before anything is erased that it begins, and at
 * its end how much it was. One that was cut short has no second row. Between them stand the ids of a person's events, each
 * committed with its erasure, so that who restores an older copy of the database can erase them again.
 *
 * What is accepted meanwhile is erased as well: first all that is stored is looked at, however long that takes; then
 * tombstones are laid, which the intake looks at with every batch, the batches that have not seen them are waited for,
 * and what was accepted since the beginning is looked at once more. At the end the tombstones stay for what had arrived
 * by then and is not committed yet.
 */
export class ErasureRun {
  readonly #pool: Pool;
  readonly #id = randomUUID();
  readonly #subject: string | null;
  readonly #contacts: readonly string[];
  readonly #counts = new Map<string, number>([["events", 0], ["collisions", 0]]);
  /** When the tombstones were laid; before that there is nothing to hold. */
  #laidAtMs = Number.POSITIVE_INFINITY;
  /** Whatever is committed when the run begins has an id up to this. */
  readonly begunAt: string;
  /** Whatever is committed later has an id after this. */
  readonly since: string;

  private constructor(
    pool: Pool,
    run: {
      readonly subject: string | null;
      readonly contacts: readonly string[];
      readonly begunAt: string;
      readonly since: string;
    },
  ) {
    this.#pool = pool;
    this.#subject = run.subject;
    this.#contacts = run.contacts;
    this.begunAt = run.begunAt;
    this.since = run.since;
  }

  /**
   * Begins a run. `subject` stands in the audit: an event's id, or `null` for a person, of whom nothing is noted;
   * `contacts` are the person's.
   */
  static async begin(
    pool: Pool,
    { subject, contacts }: { readonly subject: string | null; readonly contacts: readonly string[] },
  ): Promise<ErasureRun> {
    const row = await askOne(pool, (sql) =>
      sql<{ begun_at: string; since: string }[]>`
        select event_id_at(service_clock()) as begun_at,
          event_id_at(service_clock() - make_interval(secs => ${batchMsMax / 1_000})) as since,
          note_audit('person.erase_begin', ${subject ?? "a person"})`);
    return new ErasureRun(pool, { subject, contacts, begunAt: row?.begun_at ?? "", since: row?.since ?? "" });
  }

  /**
   * From now on whatever is the person's is erased with its commit. What was not is committed when this returns, and
   * has an id up to the one that is returned.
   */
  async watch(): Promise<string> {
    await this.#lay();
    await ask(this.#pool, (sql) => sql`select wait_for_batches()`);
    const row = await askOne(
      this.#pool,
      (sql) => sql<{ now: string }[]>`select event_id_at(service_clock()) as now`,
    );
    return row?.now ?? "";
  }

  /** To be called now and then, so that the watch goes on until {@linkcode end}. */
  async hold(): Promise<void> {
    if (performance.now() - this.#laidAtMs >= renewAfterMs) await this.#lay();
  }

  async #lay(): Promise<void> {
    this.#laidAtMs = performance.now();
    await ask(
      this.#pool,
      (sql) => sql`select lay_tombstone(${this.#id}, ${[...this.#contacts]}, ${leaseMs}, ${aliveMs})`,
    );
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
    const kept = collisions.kept.length === 0 ? null : JSON.stringify({ kept: collisions.kept });
    const row = await askOne(
      this.#pool,
      (sql) =>
        sql<{ outcome: Erased["kind"]; state: ErasedState; collisions: number }[]>`
        with erased as materialized (
          select * from erase_event(
            p_event_id => ${eventId}, p_seen => ${seen}::bigint[], p_kept => ${[
          ...collisions.kept,
        ]}::bigint[])
        )
        select e.*, case when ${this.#subject === null} and (e.outcome = 'erased' or e.collisions > 0)
          then note_audit('event.erase', ${eventId}, ${kept}::text::json) end
        from erased as e`,
    );
    if (row === null) return { kind: "gone", collisions: 0 };
    const { outcome: kind, state } = row;
    if (kind === "changed") return { kind };
    this.#count("collisions", row.collisions);
    if (kind === "gone") return { kind, collisions: row.collisions };
    this.#count("events", 1);
    this.#count(state, 1);
    return { kind, state, collisions: row.collisions };
  }

  /** Erases what was kept aside, and leaves the event; `false` when its content went before. */
  async collision(id: string): Promise<boolean> {
    const row = await askOne(this.#pool, (sql) =>
      sql<{ erased: boolean }[]>`
        with one as materialized (select erase_collision(${id}::bigint) as erased)
        select o.erased, case when o.erased then note_audit('collision.erase', ${id}) end from one as o`);
    if (row?.erased !== true) return false;
    this.#count("collisions", 1);
    return true;
  }

  #count(what: string, more: number): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + more);
  }

  /**
   * Notes what was erased: counts only, neither the address nor the number that was looked for, nor a digest of it.
   * Returns the moment at which the erasure ended, ISO 8601: what arrived until then is erased, also when it is
   * accepted later, and what arrives afterwards is a new lead.
   */
  async end(): Promise<string> {
    const counts = Object.fromEntries(this.#counts);
    const subject = this.#subject ?? String(counts.events);
    const row = await askOne(this.#pool, (sql) =>
      sql<{ ended_at: Date }[]>`
        select lay_tombstone(${this.#id}, ${[...this.#contacts]}, 0, ${aliveMs}) as ended_at,
          note_audit('person.erase', ${subject}, ${JSON.stringify(counts)}::text::json)`);
    return row?.ended_at.toISOString() ?? "";
  }
}
