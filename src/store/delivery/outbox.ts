/** Claims and settles outbox rows, and finds the tenants with due rows. */

import type postgres from "postgres";
import type { Pool } from "../pool.ts";

/** A claimed outbox row with its event's content. */
export interface Claimed {
  readonly event_id: string;
  readonly tenant_id: number;
  /** Identifies the claim. */
  readonly lease: string;
  /** Unix time in milliseconds on the database clock. */
  readonly due_at_ms: number;
  /** The number of this attempt, from 1. */
  readonly number: number;
  /** The number of attempts that count towards the maximum, including this one. */
  readonly spent: number;
  readonly is_replay: boolean;
  /** Whether an operator is resending the event after an earlier delivery. */
  readonly is_repeat: boolean;
  readonly kind: "lead" | "form";
  readonly tenant: string;
  readonly source: string;
  /** The slug of the key's campaign, if it has one. */
  readonly campaign: string | null;
  readonly received_at: string;
  /** The flags, separated by commas. */
  readonly flags: string;
  /** The lead or the submission's fields as JSON text. */
  readonly lead: string | null;
  readonly extra: string | null;
}

/** The outcome of one claimed row. */
export interface Settlement {
  readonly eventId: string;
  readonly tenantId: number;
  readonly lease: string;
  readonly number: number;
  /** `released`: the row becomes pending again, and no attempt is recorded. */
  readonly kind: "delivered" | "retry" | "dead" | "released";
  readonly outcome: "delivered" | "refused" | "unreachable";
  readonly status: number | null;
  readonly reason: string | null;
  readonly durationMs: number;
  readonly countsTowardsMax: boolean;
  /** Whether the event was delivered before; counts of events then exclude it. */
  readonly isRepeat: boolean;
  readonly retryMs: number;
}

export interface ClaimRequest {
  readonly tenantId: number;
  /** No row of the tenant is due before this time; `-infinity` if unknown. */
  readonly floor: string;
  readonly limit: number;
}

const deadlineMs = 10_000;
// 20 µs each.
const limitedMax = 10_000;

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

  /** Settles a batch and claims due rows in one statement. After an error, settling the batch again is safe. */
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

  /** Settles a batch. If this throws what {@linkcode Pool.run} throws, settle the batch again before its leases expire. */
  async settle(settlements: readonly Settlement[]): Promise<void> {
    await this.#pool.run(deadlineMs, (sql) => settle(sql, settlements));
  }

  /** Returns the tenants with due rows, except paused ones and live ones without a route; `floors` as in {@linkcode ClaimRequest}. */
  async dueTenants(floors: readonly Pick<ClaimRequest, "tenantId" | "floor">[]): Promise<number[]> {
    const rows = await this.#pool.run(
      deadlineMs,
      (sql) =>
        sql<{ tenant_id: number }[]>`select tenant_id from due_tenants(
          ${floors.map(({ tenantId }) => tenantId)}, ${
          floors.map(({ floor }) => floor)
        }, ${this.#leaseMs}::int)`,
    );
    return rows.map((row) => row.tenant_id);
  }

  /** Makes events due that wait longer than `waitMsMax`, because the database's clock was set back. */
  async limitWaits(waitMsMax: number): Promise<void> {
    await this.#pool.run(deadlineMs, (sql) => sql`select limit_waits(${waitMsMax}, ${limitedMax})`);
  }
}

/**
 * Formats a time, truncated to milliseconds; `ms` is inexact by up to a quarter of a microsecond.
 *
 * Rejected: PostgreSQL's `to_char`, which takes over a microsecond per row, three times as long.
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
      p_spent => ${others.map((one) => one.countsTowardsMax ? "t" : "f")},
      p_retry_ms => ${others.map((one) => one.retryMs)}) as count`;
}
