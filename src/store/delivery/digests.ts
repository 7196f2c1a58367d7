/** The daily digests, as the actions process claims and records them. */

import { describeError, type Pool, Unavailable } from "../pool.ts";

/** The numbers of a digest. Counts of waiting items stop at {@linkcode countMax} + 1. */
export interface DigestFigures {
  readonly sources: readonly {
    readonly source: string;
    readonly kind: "lead" | "form";
    readonly accepted: number;
    /** In the preceding span of the same length. */
    readonly before: number;
    /** Held as spam in the span. */
    readonly held: number;
  }[];
  readonly more_sources: number;
  readonly leads: number;
  readonly leads_before: number;
  readonly messages: number;
  readonly messages_before: number;
  readonly messages_held: number;
  readonly spend_cents: number;
  /** Sources that sent something in the week before and nothing since. */
  readonly silent: readonly { readonly source: string; readonly last_hour: string }[];
  readonly waiting: number;
  readonly oldest_waiting_s: number | null;
  readonly dead: number;
  /** Unjudged submissions of any age. */
  readonly held: number;
  readonly collisions: number;
  /** The span's unjudged submissions, the first few and how many more; `null` unless the tenant may release them. */
  readonly to_judge: {
    readonly listed: readonly {
      readonly id: string;
      readonly form: string;
      /** An email address or a phone number, or empty. */
      readonly sender: string;
      readonly excerpt: string;
    }[];
    readonly more: number;
  } | null;
}

export const countMax = 10_000;

/** A claimed digest. */
export interface ClaimedDigest {
  readonly tenantId: number;
  readonly routeId: number;
  readonly tenant: string;
  readonly name: string;
  readonly timeZone: string;
  readonly address: string;
  /** Its span: ISO 8601, UTC. */
  readonly since: string;
  readonly until: string;
  /** Whether the rollup of the last hours is late. */
  readonly isBehind: boolean;
  readonly figures: DigestFigures;
}

// Counts of one tenant take far less on a healthy database.
const deadlineMs = 5_000;

/** Methods throw {@linkcode Unavailable} when the database is unavailable or refuses a statement. */
export class DigestStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Claims a digest that is due, or returns `null`. */
  async begin(lease: { readonly id: string; readonly ms: number }): Promise<ClaimedDigest | null> {
    const [row] = await this.#pool.run(deadlineMs, (sql) =>
      sql<ClaimedDigest[]>`
        select tenant_id as "tenantId", route_id as "routeId", tenant, name, time_zone as "timeZone", address, since,
          until, is_behind as "isBehind", figures
        from actions.begin_digest(${lease.id}::uuid, ${lease.ms}::int)`).catch(thrown);
    return row ?? null;
  }

  /** Records that it was sent (`reason` is `null`), or why not, in a word. */
  async settle(
    { tenantId, routeId }: ClaimedDigest,
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
