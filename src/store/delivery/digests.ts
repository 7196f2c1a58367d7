/**
 * What the actions process reads and records of the daily digests.
 *
 * @module
 */

import { describeError, type Pool, Unavailable } from "../pool.ts";

/** What a digest tells, in numbers. Those of what waits stop at {@linkcode countMax}; one more stands for more. */
export interface DigestFigures {
  readonly sources: readonly {
    readonly source: string;
    readonly kind: "lead" | "form";
    /** Without those that are held. */
    readonly accepted: number;
    /** In a span of the same length before. */
    readonly before: number;
    /** Of the span, as spam. */
    readonly held: number;
  }[];
  readonly more_sources: number;
  readonly leads: number;
  readonly leads_before: number;
  readonly messages: number;
  readonly messages_before: number;
  readonly messages_held: number;
  readonly spend_cents: number;
  /** Those that sent something in the week before and nothing since. */
  readonly silent: readonly { readonly source: string; readonly last_hour: string }[];
  readonly waiting: number;
  readonly oldest_waiting_s: number | null;
  readonly dead: number;
  /** Those that nobody has judged, of whatever time. */
  readonly held: number;
  readonly collisions: number;
  /** Those of the span that nobody has judged, some of them and how many more; `null` unless the tenant may release them. */
  readonly to_judge: {
    readonly listed: readonly {
      readonly id: string;
      readonly form: string;
      /** An address or a number, or empty. */
      readonly sender: string;
      readonly excerpt: string;
    }[];
    readonly more: number;
  } | null;
}

/** So many are counted. */
export const countMax = 10_000;

/** A digest that is ours to send. */
export interface BegunDigest {
  readonly tenantId: number;
  readonly routeId: number;
  readonly tenant: string;
  readonly name: string;
  readonly timeZone: string;
  readonly address: string;
  /** What it tells of: ISO 8601, UTC. */
  readonly since: string;
  readonly until: string;
  /** Whether the counting of the last hours is late. */
  readonly isBehind: boolean;
  readonly figures: DigestFigures;
}

// Counts of a tenant; what takes longer is a database in trouble.
const deadlineMs = 5_000;

/** Claims digests and records them. Its methods throw {@linkcode Unavailable} when the database is away. */
export class DigestStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Claims one that is due, or answers `null`. */
  async begin(lease: { readonly id: string; readonly ms: number }): Promise<BegunDigest | null> {
    const [row] = await this.#pool.run(deadlineMs, (sql) =>
      sql<BegunDigest[]>`
        select tenant_id as "tenantId", route_id as "routeId", tenant, name, time_zone as "timeZone", address, since,
          until, is_behind as "isBehind", figures
        from actions.begin_digest(${lease.id}::uuid, ${lease.ms}::int)`).catch(thrown);
    return row ?? null;
  }

  /** Records that it is sent (`reason` is `null`), or in a word why it is not. */
  async settle(
    { tenantId, routeId }: BegunDigest,
    lease: string,
    reason: string | null,
  ): Promise<void> {
    await this.#pool.run(
      deadlineMs,
      (sql) => sql`select actions.settle_digest(${tenantId}, ${routeId}, ${lease}::uuid, ${reason})`,
    ).catch(thrown);
  }
}

function thrown(error: unknown): never {
  throw error instanceof Unavailable ? error : new Unavailable(describeError(error), { cause: error });
}
