/**
 * The outbox as the delivery loop works it: claims, settlements and which tenants have something due.
 *
 * @module
 */

import type postgres from "postgres";
import type { Pool } from "../pool.ts";

/** A claimed row with what is to be sent of its event. */
export interface Claimed {
  readonly event_id: string;
  readonly tenant_id: number;
  /** Names the claim it came with. */
  readonly lease: string;
  /** When it was due: milliseconds since 1970 on the database's clock. */
  readonly due_at_ms: number;
  /** Of the attempt that is now to be made, from 1. */
  readonly number: number;
  /** Attempts that count towards its death, this one included. */
  readonly spent: number;
  readonly is_replay: boolean;
  /** It was delivered before, and an operator has sent it again. */
  readonly is_repeat: boolean;
  readonly kind: "lead" | "form";
  readonly tenant: string;
  readonly source: string;
  readonly received_at: string;
  /** Comma-separated. */
  readonly flags: string;
  /** JSON text; null after an erasure. */
  readonly lead: string | null;
  /** JSON text of an object. */
  readonly extra: string | null;
}

/** How one claimed row is settled. */
export interface Settlement {
  readonly eventId: string;
  readonly tenantId: number;
  readonly lease: string;
  readonly number: number;
  /** `released`: it was claimed and never sent, or nowhere to be sent to, and leaves no attempt; a reason may say why. */
  readonly kind: "delivered" | "retry" | "dead" | "released";
  readonly outcome: "delivered" | "refused" | "unreachable";
  readonly status: number | null;
  readonly reason: string | null;
  readonly durationMs: number;
  readonly isSpent: boolean;
  /** It was delivered before: what counts events leaves it out. */
  readonly isRepeat: boolean;
  /** Until the next attempt; 0 when there is none. */
  readonly retryMs: number;
}

/** What to claim of one tenant. */
export interface ClaimRequest {
  readonly tenantId: number;
  /** Nothing of the tenant is due before it; `-infinity` when nothing is known. */
  readonly floor: string;
  readonly limit: number;
}

const deadlineMs = 10_000;

/** Claims and settles. */
export class OutboxStore {
  readonly #pool: Pool;
  readonly #newLease: () => string;
  readonly #leaseMs: number;
  readonly #attemptsMax: number;

  /** `newLease` makes a UUID for each claim. */
  constructor(pool: Pool, options: { newLease: () => string; leaseMs: number; attemptsMax: number }) {
    this.#pool = pool;
    this.#newLease = options.newLease;
    this.#leaseMs = options.leaseMs;
    this.#attemptsMax = options.attemptsMax;
  }

  /**
   * Settles a batch, and then claims what is due, at most `limit` rows a tenant, in one statement. Throws what
   * {@linkcode Pool.run} throws: then both have been done or neither, the batch may come again, and what was claimed waits
   * for the end of its lease.
   */
  async claim(
    requests: readonly ClaimRequest[],
    settlements: readonly Settlement[] = [],
  ): Promise<Claimed[]> {
    const lease = this.#newLease();
    const rows = await this.#pool.run(deadlineMs, (sql) => {
      const settled = settlements.length === 0 ? sql`select 0 as count` : settle(sql, settlements);
      return sql<(Omit<Claimed, "lease" | "received_at"> & { received_at_ms: number })[]>`
        with settled as materialized (${settled})
        select c.* from settled, claim_outbox(
          p_lease => ${lease}, p_lease_ms => ${this.#leaseMs}, p_attempts_max => ${this.#attemptsMax},
          p_tenant_id => ${requests.map(({ tenantId }) => tenantId)},
          p_floor => ${requests.map(({ floor }) => floor)}, p_limit => ${requests.map(({ limit }) => limit)},
          p_settled => settled.count) as c`;
    });
    return rows.map((row) => Object.assign(row, { lease, received_at: isoTime(row.received_at_ms) }));
  }

  /** Settles a batch. Throws what {@linkcode Pool.run} throws; then the leases run out. */
  async settle(settlements: readonly Settlement[]): Promise<void> {
    await this.#pool.run(deadlineMs, (sql) => settle(sql, settlements));
  }

  /** The tenants that have something due and somewhere to send it; `floors` as in {@linkcode ClaimRequest}. */
  async dueTenants(floors: readonly Pick<ClaimRequest, "tenantId" | "floor">[]): Promise<number[]> {
    const rows = await this.#pool.run(
      deadlineMs,
      (sql) =>
        sql<{ tenant_id: number }[]>`select tenant_id from due_tenants(
          ${floors.map(({ tenantId }) => tenantId)}, ${floors.map(({ floor }) => floor)})`,
    );
    return rows.map((row) => row.tenant_id);
  }
}

/**
 * As all times of an event are written: cut to milliseconds. The number has the database's microseconds, each up to a
 * quarter of one off.
 *
 * Chosen: a number, because PostgreSQL's `to_char` costs more than a microsecond a row, and this a third of it.
 */
function isoTime(ms: number): string {
  return new Date(Math.floor(ms + 0.0005)).toISOString();
}

function settle(
  sql: postgres.Sql,
  settlements: readonly Settlement[],
): postgres.PendingQuery<postgres.Row[]> {
  const others = settlements.filter(({ kind }) => kind !== "delivered");
  const all = [...others, ...settlements.filter(({ kind }) => kind === "delivered")];
  return sql`
    select settle_outbox(
      p_lease => ${all.map((one) => one.lease)}, p_event_id => ${all.map((one) => one.eventId)},
      p_number => ${all.map((one) => one.number)}, p_kind => ${others.map((one) => one.kind)},
      p_outcome => ${others.map((one) => one.outcome)}, p_status => ${all.map((one) => one.status)},
      p_reason => ${others.map((one) => one.reason)}, p_duration_ms => ${all.map((one) => one.durationMs)},
      p_spent => ${others.map((one) => one.isSpent ? "t" : "f")},
      p_retry_ms => ${others.map((one) => one.retryMs)}) as count`;
}
