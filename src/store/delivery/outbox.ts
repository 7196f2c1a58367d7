/** The outbox as the delivery loop uses it: claims, settlements, and the tenants with due rows. */

import type postgres from "postgres";
import type { Pool } from "../pool.ts";

/** A claimed row, with the content of its event. */
export interface Claimed {
  readonly event_id: string;
  readonly tenant_id: number;
  /** Identifies the claim. */
  readonly lease: string;
  /** Milliseconds since 1970 on the database's clock. */
  readonly due_at_ms: number;
  /** Of this attempt, from 1. */
  readonly number: number;
  /** Attempts that count towards the maximum, including this one. */
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
  readonly extra: string | null;
}

/** The outcome of one claimed row. */
export interface Settlement {
  readonly eventId: string;
  readonly tenantId: number;
  readonly lease: string;
  readonly number: number;
  /** `released`: never sent, or nowhere to send it; records no attempt, maybe a reason. */
  readonly kind: "delivered" | "retry" | "dead" | "released";
  readonly outcome: "delivered" | "refused" | "unreachable";
  readonly status: number | null;
  readonly reason: string | null;
  readonly durationMs: number;
  readonly isSpent: boolean;
  /** It was delivered before, so counts of events leave it out. */
  readonly isRepeat: boolean;
  readonly retryMs: number;
}

export interface ClaimRequest {
  readonly tenantId: number;
  /** Nothing of the tenant is due before it; `-infinity` when unknown. */
  readonly floor: string;
  readonly limit: number;
}

const deadlineMs = 10_000;

export class OutboxStore {
  readonly #pool: Pool;
  readonly #newLease: () => string;
  readonly #leaseMs: number;
  readonly #attemptsMax: number;

  constructor(pool: Pool, options: { newLease: () => string; leaseMs: number; attemptsMax: number }) {
    this.#pool = pool;
    this.#newLease = options.newLease;
    this.#leaseMs = options.leaseMs;
    this.#attemptsMax = options.attemptsMax;
  }

  /** Settles a batch and claims due rows in one statement. After an error the batch may be settled again. */
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

  /** Settles a batch. Throws what {@linkcode Pool.run} throws; the leases then expire. */
  async settle(settlements: readonly Settlement[]): Promise<void> {
    await this.#pool.run(deadlineMs, (sql) => settle(sql, settlements));
  }

  /** Tenants with due rows and a route; `floors` as in {@linkcode ClaimRequest}. */
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
 * Formats a time as all times of an event, cut to milliseconds; the number of microseconds is up to a quarter off.
 *
 * Chosen: a number, because PostgreSQL's `to_char` takes over a microsecond per row, three times as long.
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
