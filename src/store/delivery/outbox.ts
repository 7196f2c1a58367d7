/**
 * The outbox as the delivery loop works it: claims, settlements and which tenants have something due.
 *
 * @module
 */

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

  /** Claims what is due, at most `limit` rows a tenant. Throws what {@linkcode Pool.run} throws. */
  async claim(requests: readonly ClaimRequest[]): Promise<Claimed[]> {
    const lease = this.#newLease();
    const rows = await this.#pool.run(
      deadlineMs,
      (sql) =>
        sql<Omit<Claimed, "lease">[]>`
          select * from claim_outbox(
            p_lease => ${lease}, p_lease_ms => ${this.#leaseMs}, p_attempts_max => ${this.#attemptsMax},
            p_tenant_id => ${requests.map(({ tenantId }) => tenantId)},
            p_floor => ${requests.map(({ floor }) => floor)}, p_limit => ${
          requests.map(({ limit }) => limit)
        })`,
    );
    return rows.map((row) => ({ ...row, lease }));
  }

  /** Settles a batch. Throws what {@linkcode Pool.run} throws; then the leases run out. */
  async settle(settlements: readonly Settlement[]): Promise<void> {
    const column = <T>(pick: (settlement: Settlement) => T): T[] => settlements.map(pick);
    await this.#pool.run(deadlineMs, (sql) =>
      sql`
        select settle_outbox(
          p_lease => ${column((one) => one.lease)}, p_event_id => ${column((one) => one.eventId)},
          p_number => ${column((one) => one.number)}, p_kind => ${column((one) => one.kind)},
          p_outcome => ${column((one) => one.outcome)}, p_status => ${column((one) => one.status)},
          p_reason => ${column((one) => one.reason)}, p_duration_ms => ${column((one) => one.durationMs)},
          p_spent => ${column((one) => one.isSpent ? "t" : "f")},
          p_retry_ms => ${column((one) => one.retryMs)})`);
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
