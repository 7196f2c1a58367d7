/** Finds and erases a person's data, one event or collision per transaction. */

import { randomUUID } from "node:crypto";
import { limits } from "../../contract/limits.ts";
import type { StoredTexts } from "../../lead/person.ts";
import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";
import { erasePosts } from "./post_log.ts";

/** The delivery state of an event before its erasure. */
export type ErasedState = "pending" | "sending" | "delivered" | "dead" | "held";

/** An event or a collision that may contain the person's data. */
export interface Candidate {
  readonly eventId: string;
  readonly texts: StoredTexts;
}

export interface CollisionCandidate extends Candidate {
  readonly id: string;
}

interface Batch<Found> {
  /** The last id examined, after which to continue; `null` at the end. */
  readonly edge: string | null;
  readonly found: readonly Found[];
}

// Bounds what one statement reads; a body has up to 64 KiB, rarely over 1 KiB.
const pageRows = 2_000;

interface TextsRow {
  readonly event_id: string;
  readonly lead: string | null;
  readonly extra: string | null;
  readonly raw: string | null;
  readonly idempotency_key?: string | null;
  readonly request_id?: string | null;
  readonly contact?: string | null;
}

function toCandidate(row: TextsRow): Candidate {
  const { lead, extra, raw, contact = null, idempotency_key: key = null, request_id: requestId = null } = row;
  const identifiers = [key, requestId].filter((text) => text !== null);
  return { eventId: row.event_id, texts: { lead, extra, raw, contact, identifiers } };
}

export async function findCandidates(
  pool: Pool,
  { after, pattern }: { readonly after: string; readonly pattern: string },
): Promise<Batch<Candidate>> {
  const rows = await query(pool, (sql) =>
    sql<(TextsRow & { edge: string })[]>`
      select * from erase_candidates(${after}, ${pageRows}, ${pattern})`);
  return { edge: rows[0]?.edge ?? null, found: rows.filter((row) => row.event_id !== null).map(toCandidate) };
}

export async function findCollisionCandidates(
  pool: Pool,
  { after, pattern }: { readonly after: string; readonly pattern: string },
): Promise<Batch<CollisionCandidate>> {
  const rows = await query(pool, (sql) =>
    sql<(TextsRow & { edge: string; id: string })[]>`
      select * from erase_candidate_collisions(${after}::bigint, ${pageRows}, ${pattern})`);
  return {
    edge: rows[0]?.edge ?? null,
    found: rows.filter((row) => row.id !== null).map((row) => ({ ...toCandidate(row), id: row.id })),
  };
}

/** Reads the collisions under an event's Idempotency-Key whose content is still stored. */
export async function readCollisionsOf(pool: Pool, eventId: string): Promise<CollisionCandidate[]> {
  const rows = await query(pool, (sql) =>
    sql<(TextsRow & { id: string })[]>`
      select c.id, c.event_id, c.lead::text as lead, c.extra, c.raw, c.request_id
      from collision as c where c.event_id = ${eventId} and c.content_digest is not null order by c.id`);
  return rows.map((row) => ({ ...toCandidate(row), id: row.id }));
}

type Erased =
  | { readonly kind: "erased"; readonly state: ErasedState; readonly collisions: number }
  /** The event's content was removed earlier. `collisions` counts the collisions that this call erased. */
  | { readonly kind: "gone"; readonly collisions: number }
  /** The event has a collision that the caller has not reviewed; nothing was erased. */
  | { readonly kind: "changed" };

/**
 * How long tombstones outlive the run, because posts that arrived before its end may be committed later: a request's
 * time limit, a commit's deadline, and 30 s for a stalled server.
 */
const tombstoneMs = limits.requestTimeoutMs + 10_000 + 30_000;
// How long after the last renewal new posts are erased if the run is interrupted. Longer than any statement of the run.
const leaseMs = 30_000;
const renewAfterMs = 5_000;
// An event that was accepted at most this long before the start may commit after it; batches time out after 9 s.
const batchMsMax = 10_000;

/**
 * One run of `ctl erase`.
 *
 * The run audits its start, the id of each erased event (to repeat the erasure on a restored older copy), and the counts
 * at its end; an interrupted run has no last audit row.
 *
 * To also erase what is accepted during the run, `ctl erase` scans all events, registers tombstones that the intake
 * checks with every batch, waits for the batches that missed them, and scans the events accepted since the start. The
 * tombstones outlive the run to cover posts that had arrived but were not committed.
 */
export class ErasureRun {
  readonly #pool: Pool;
  readonly #id = randomUUID();
  readonly #subject: string | null;
  readonly #contacts: readonly string[];
  readonly #counts = new Map<string, number>([["events", 0], ["collisions", 0]]);
  /** When the tombstones were last registered; infinite before the first registration. */
  #registeredAtMs = Number.POSITIVE_INFINITY;
  /** Every event committed before the start has a lower id. */
  readonly startId: string;
  /** Every event committed after the start has a higher id. */
  readonly rescanAfterId: string;

  private constructor(
    pool: Pool,
    run: {
      readonly subject: string | null;
      readonly contacts: readonly string[];
      readonly startId: string;
      readonly rescanAfterId: string;
    },
  ) {
    this.#pool = pool;
    this.#subject = run.subject;
    this.#contacts = run.contacts;
    this.startId = run.startId;
    this.rescanAfterId = run.rescanAfterId;
  }

  /** Starts a run. `subject` is the event's id for the audit, or `null` to erase a person, whom the audit does not name. */
  static async start(
    pool: Pool,
    { subject, contacts }: { readonly subject: string | null; readonly contacts: readonly string[] },
  ): Promise<ErasureRun> {
    const row = await queryOne(pool, (sql) =>
      sql<{ start_id: string; rescan_after_id: string }[]>`
        -- Events from before the clock was set back are further ahead.
        select greatest(event_id_at(service_clock()), (select max(event_id) from event)) as start_id,
          event_id_at(service_clock() - make_interval(secs => ${batchMsMax / 1_000})) as rescan_after_id,
          note_audit('person.erase_begin', ${subject ?? "a person"})`);
    const { start_id: startId = "", rescan_after_id: rescanAfterId = "" } = row ?? {};
    return new ErasureRun(pool, { subject, contacts, startId, rescanAfterId });
  }

  /** Makes the intake erase the person's posts as they commit. Events committed earlier have ids up to the returned one. */
  async watch(): Promise<string> {
    await this.#register();
    await query(this.#pool, (sql) => sql`select wait_for_batches()`);
    const row = await queryOne(
      this.#pool,
      (sql) => sql<{ now: string }[]>`select event_id_at(service_clock()) as now`,
    );
    return row?.now ?? "";
  }

  /** Renews the tombstones if necessary; call this regularly until {@linkcode end}. */
  async renewWatch(): Promise<void> {
    if (performance.now() - this.#registeredAtMs >= renewAfterMs) await this.#register();
  }

  async #register(): Promise<void> {
    this.#registeredAtMs = performance.now();
    await query(
      this.#pool,
      (sql) => sql`select register_erasure(${this.#id}, ${[...this.#contacts]}, ${leaseMs}, ${tombstoneMs})`,
    );
  }

  /** Erases and audits an event. `reviewed` lists its reviewed collisions (`null`: erase all), `kept` those that stay. */
  async eraseEvent(
    eventId: string,
    collisions: { readonly reviewed: readonly string[] | null; readonly kept: readonly string[] },
  ): Promise<Erased> {
    const reviewed = collisions.reviewed === null ? null : [...collisions.reviewed];
    const kept = collisions.kept.length === 0 ? null : JSON.stringify({ kept: collisions.kept });
    const row = await queryOne(
      this.#pool,
      (sql) =>
        sql<{ outcome: Erased["kind"]; state: ErasedState; collisions: number }[]>`
        with erased as materialized (
          select * from erase_event(
            p_event_id => ${eventId}, p_seen => ${reviewed}::bigint[], p_kept => ${[
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
    this.#add("collisions", row.collisions);
    if (kind === "gone") return { kind, collisions: row.collisions };
    this.#add("events", 1);
    this.#add(state, 1);
    return { kind, state, collisions: row.collisions };
  }

  /** Erases and audits a collision but not its event; returns `false` if its content was removed earlier. */
  async eraseCollision(id: string): Promise<boolean> {
    const row = await queryOne(this.#pool, (sql) =>
      sql<{ erased: boolean }[]>`
        with one as materialized (select erase_collision(${id}::bigint) as erased)
        select o.erased, case when o.erased then note_audit('collision.erase', ${id}) end from one as o`);
    if (row?.erased !== true) return false;
    this.#add("collisions", 1);
    return true;
  }

  /** Erases the identifiers of logged posts, see {@linkcode erasePosts}; returns their number. */
  async erasePosts(pattern: string | null): Promise<number> {
    const beforePage = () => this.renewWatch();
    const count = await erasePosts(this.#pool, { pattern, isDryRun: false, beforePage });
    if (count > 0) this.#add("posts", count);
    return count;
  }

  #add(kind: string, count: number): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + count);
  }

  /**
   * Audits the counts, without the person's contacts, and returns the end of the erasure, ISO 8601. Posts that arrived
   * before the end are erased even if they are accepted later; posts that arrive later are new leads.
   */
  async end(): Promise<string> {
    const counts = Object.fromEntries(this.#counts);
    const subject = this.#subject ?? String(counts.events);
    const row = await queryOne(this.#pool, (sql) =>
      sql<{ ended_at: Date }[]>`
        select register_erasure(${this.#id}, ${[...this.#contacts]}, 0, ${tombstoneMs}) as ended_at,
          note_audit('person.erase', ${subject}, ${JSON.stringify(counts)}::text::json)`);
    return row?.ended_at.toISOString() ?? "";
  }
}
