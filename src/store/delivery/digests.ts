/** Claims daily digests and records their outcomes, for the actions process. */

import type { Pool } from "../pool.ts";
import { throwUnavailable } from "../unavailable.ts";

/** A digest's figures. The counts `waiting`, `dead`, `held` and `collisions` stop at {@linkcode countMax} + 1. */
export interface DigestFigures {
  readonly sources: readonly {
    readonly source: string;
    readonly kind: "lead" | "form";
    readonly accepted: number;
    /** The number accepted in the preceding period of the same length. */
    readonly before: number;
    /** How many of those received in the period are still held as spam. */
    readonly held: number;
    /** The slug of its keys' campaign, or several with commas; `null` without one. */
    readonly campaign: string | null;
    readonly spend_cents: number;
  }[];
  readonly more_sources: number;
  readonly leads: number;
  readonly leads_before: number;
  readonly messages: number;
  readonly messages_before: number;
  readonly messages_held: number;
  readonly spend_cents: number;
  /** The active sources that sent something in the week before the period but nothing in the period. */
  readonly silent: readonly { readonly source: string; readonly last_hour: string }[];
  readonly waiting: number;
  readonly oldest_waiting_s: number | null;
  readonly dead: number;
  /** The number of held submissions of any age to review, honeypot hits apart. */
  readonly held: number;
  readonly collisions: number;
  /**
   * The period's unreviewed submissions: the first few and the number of others. `null` unless the tenant has
   * `digest_actions`.
   */
  readonly to_review: {
    readonly listed: readonly {
      readonly id: string;
      readonly form: string;
      /** ISO 8601, UTC. */
      readonly received_at: string;
      /** The start of each of the first values, by field name. */
      readonly fields: Readonly<Record<string, string>>;
    }[];
    readonly more: number;
  } | null;
}

export const countMax = 10_000;

export interface ClaimedDigest {
  readonly tenantId: number;
  readonly routeId: number;
  readonly tenant: string;
  readonly name: string;
  readonly timeZone: string;
  readonly address: string;
  /** The start of the period; ISO 8601, UTC, as is its end, `until`. */
  readonly since: string;
  readonly until: string;
  /** Whether the period's last hours are missing, because their rollup is late. */
  readonly isBehind: boolean;
  readonly figures: DigestFigures;
}

// On a healthy database, one tenant's counts take far less time.
const deadlineMs = 5_000;

/** Methods throw `Unavailable` when the database is unavailable or refuses a statement. */
export class DigestStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Claims a due digest; returns `null` if none is due. */
  async begin(lease: { readonly id: string; readonly ms: number }): Promise<ClaimedDigest | null> {
    const [row] = await this.#pool.run(deadlineMs, (sql) =>
      sql<ClaimedDigest[]>`
        select tenant_id as "tenantId", route_id as "routeId", tenant, name, time_zone as "timeZone", address, since,
          until, is_behind as "isBehind", figures
        from actions.begin_digest(${lease.id}::uuid, ${lease.ms}::int)`).catch(throwUnavailable);
    return row ?? null;
  }

  /** Records that a digest was sent (`reason` is `null`), or why it failed. */
  async settle(
    { tenantId, routeId }: ClaimedDigest,
    lease: string,
    reason: string | null,
  ): Promise<void> {
    await this.#pool.run(
      deadlineMs,
      (sql) => sql`select actions.settle_digest(${tenantId}, ${routeId}, ${lease}::uuid, ${reason})`,
    ).catch(throwUnavailable);
  }
}
