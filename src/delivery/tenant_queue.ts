/**
 * What the delivery loop knows of one tenant.
 *
 * @module
 */

import type { Claimed } from "../store/outbox.ts";

/** A claimed row and when its lease was taken, on the process's monotonic clock. */
export interface Ready {
  readonly row: Claimed;
  readonly claimedAtMs: number;
}

// A floor stays this far behind the newest row that was claimed: a commit that began earlier may still appear.
const floorLagMs = 10_000;

/** Rows that are claimed and wait for their turn, and whether the store may have more. */
export class TenantQueue {
  readonly tenantId: number;
  readonly ready: Ready[] = [];
  inFlight = 0;
  /** The store may have rows of this tenant that are due. */
  mayHaveDue = false;
  /** Wakes the tenant when a retry that this process has scheduled is due. */
  timer: ReturnType<typeof setTimeout> | null = null;
  timerAtMs = Number.POSITIVE_INFINITY;
  #newestDueMs = Number.NEGATIVE_INFINITY;

  constructor(tenantId: number) {
    this.tenantId = tenantId;
  }

  /** Nothing of the tenant is due before this time, as far as this process can know. */
  get floor(): string {
    return this.#newestDueMs === Number.NEGATIVE_INFINITY
      ? "-infinity"
      : new Date(this.#newestDueMs - floorLagMs).toISOString();
  }

  /** Looks at everything again with the next claim. */
  forgetFloor(): void {
    this.#newestDueMs = Number.NEGATIVE_INFINITY;
  }

  /** Takes claimed rows, in the order in which they were due. */
  push(rows: readonly Claimed[], claimedAtMs: number): void {
    for (const row of rows) this.ready.push({ row, claimedAtMs });
    const newest = rows.at(-1);
    if (newest !== undefined) this.#newestDueMs = Math.max(this.#newestDueMs, newest.due_at_ms);
  }
}
