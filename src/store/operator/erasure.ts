/** Removes what is stored of a person. Each call is one short transaction; searching only reads. */

import { randomUUID } from "node:crypto";
import { limits } from "../../contract/limits.ts";
import type { StoredTexts } from "../../lead/person.ts";
import type { Pool } from "../pool.ts";
import { ask, askOne } from "./admin_pool.ts";

/** The delivery state of the erased event. */
export type ErasedState = "pending" | "sending" | "delivered" | "dead" | "held";

/** An event, or a collision of it, that may be the person's. */
export interface Candidate {
  readonly eventId: string;
  readonly texts: StoredTexts;
}

export interface CollisionCandidate extends Candidate {
  readonly id: string;
}

interface Batch<Found> {
  /** Continue after it; `null` at the end. */
  readonly edge: string | null;
  readonly found: readonly Found[];
}

// Bounds what one statement reads; bodies have up to 64 KiB, seldom over 1 KiB.
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

export async function findCandidates(
  pool: Pool,
  { after, pattern }: { readonly after: string; readonly pattern: string },
): Promise<Batch<Candidate>> {
  const rows = await ask(pool, (sql) =>
    sql<(TextsRow & { edge: string })[]>`
      select * from erase_candidates(${after}, ${pageRows}, ${pattern})`);
  return { edge: rows[0]?.edge ?? null, found: rows.filter((row) => row.event_id !== null).map(candidate) };
}

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

/** The collisions of an event whose content is not removed. */
export async function readCollisionsOf(pool: Pool, eventId: string): Promise<CollisionCandidate[]> {
  const rows = await ask(pool, (sql) =>
    sql<(TextsRow & { id: string })[]>`
      select c.id, c.event_id, c.lead::text as lead, c.extra, c.raw
      from collision as c where c.event_id = ${eventId} and c.content_digest is not null order by c.id`);
  return rows.map((row) => ({ ...candidate(row), id: row.id }));
}

/** Whether an event exists, and whether its content is still there. */
export async function findEvent(pool: Pool, eventId: string): Promise<"stored" | "removed" | null> {
  const row = await askOne(pool, (sql) =>
    sql<{ removed: boolean }[]>`
      select e.removed_at is not null as removed from event as e where e.event_id = ${eventId}`);
  if (row === null) return null;
  return row.removed ? "removed" : "stored";
}

type Erased =
  | { readonly kind: "erased"; readonly state: ErasedState; readonly collisions: number }
  /** Its content was removed before; `collisions` are removed now. */
  | { readonly kind: "gone"; readonly collisions: number }
  /** A new collision was not judged; nothing was erased. */
  | { readonly kind: "changed" };

/**
 * How long a tombstone outlives the erasure, until whatever had arrived by its end is committed or refused: the
 * request's bound, the commit's deadline, and 30 s for a stalled server.
 */
const aliveMs = limits.requestTimeoutMs + 10_000 + 30_000;
// Tombstones' lease while the run goes on, longer than any statement of it; an interrupted run lets go then.
const leaseMs = 30_000;
const renewAfterMs = 5_000;
// How long before a run an event may have been accepted that commits after its start; batches are given up after 9 s.
const batchMsMax = 10_000;

/**
 * One run of `ctl erase`.
 *
 * It audits its start, each erased event's id with the erasure itself (to repeat it on a restored older copy), and
 * the counts at its end; an interrupted run has no last row.
 *
 * To also erase what is accepted meanwhile, it scans all that is stored, registers tombstones that the intake checks
 * with every batch, waits for the batches that missed them, and scans what was accepted since the start. Tombstones
 * outlive the run for posts that had arrived but not committed.
 */
export class ErasureRun {
  readonly #pool: Pool;
  readonly #id = randomUUID();
  readonly #subject: string | null;
  readonly #contacts: readonly string[];
  readonly #counts = new Map<string, number>([["events", 0], ["collisions", 0]]);
  /** When the tombstones were registered; before that there is nothing to renew. */
  #registeredAtMs = Number.POSITIVE_INFINITY;
  /** Events committed before the start have ids up to this. */
  readonly begunAt: string;
  /** Events committed later have ids after this. */
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

  /** Starts a run. `subject` is for the audit: an event's id, or `null` for a person, who is not named. */
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

  /** Erases the person's posts with their commit from now on; other commits have ids up to the one returned. */
  async watch(): Promise<string> {
    await this.#register();
    await ask(this.#pool, (sql) => sql`select wait_for_batches()`);
    const row = await askOne(
      this.#pool,
      (sql) => sql<{ now: string }[]>`select event_id_at(service_clock()) as now`,
    );
    return row?.now ?? "";
  }

  /** Call it now and then to renew the watch until {@linkcode end}. */
  async hold(): Promise<void> {
    if (performance.now() - this.#registeredAtMs >= renewAfterMs) await this.#register();
  }

  async #register(): Promise<void> {
    this.#registeredAtMs = performance.now();
    await ask(
      this.#pool,
      (sql) => sql`select register_erasure(${this.#id}, ${[...this.#contacts]}, ${leaseMs}, ${aliveMs})`,
    );
  }

  /** Erases an event. `seen` are its judged collisions, `kept` those that stay; with `seen` null all go. */
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

  /** Erases a collision but not its event; `false` when its content was gone. */
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
   * Audits the counts, without the address or number or a digest of it, and returns the end of the erasure, ISO 8601:
   * posts that arrived until then are erased even if accepted later; later ones are new leads.
   */
  async end(): Promise<string> {
    const counts = Object.fromEntries(this.#counts);
    const subject = this.#subject ?? String(counts.events);
    const row = await askOne(this.#pool, (sql) =>
      sql<{ ended_at: Date }[]>`
        select register_erasure(${this.#id}, ${[...this.#contacts]}, 0, ${aliveMs}) as ended_at,
          note_audit('person.erase', ${subject}, ${JSON.stringify(counts)}::text::json)`);
    return row?.ended_at.toISOString() ?? "";
  }
}
