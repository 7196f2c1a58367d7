/** Plans the delivery loop's claims from each tenant's state and the delivery rate. */

import type { Claimed, ClaimRequest } from "../store/delivery/outbox.ts";

interface ReadyRow {
  readonly row: Claimed;
  /** The monotonic time just before the claim; the lease does not start earlier. */
  readonly claimedAtMs: number;
}

// How far the floor stays behind the newest claimed row, because older transactions may commit later.
const floorLagMs = 10_000;

// The maximum number of scheduled retries per tenant; polling finds the others.
const wakesMax = 256;

/** A tenant's ready rows and delivery state. */
export class TenantQueue {
  readonly tenantId: number;
  readonly ready: ReadyRow[] = [];
  inFlight = 0;
  /** Whether the store may have due rows for this tenant. */
  mayHaveDue = false;
  /** The due times of retries that this process has scheduled, on the monotonic clock. */
  #wakesAtMs: number[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #newestDueMs = Number.NEGATIVE_INFINITY;
  /** Incremented when the floor is reset, so that a claim that started earlier does not raise the floor. */
  floorVersion = 0;

  constructor(tenantId: number) {
    this.tenantId = tenantId;
  }

  get isIdle(): boolean {
    return this.inFlight === 0 && this.ready.length === 0 && !this.mayHaveDue && this.#wakesAtMs.length === 0;
  }

  /** The time before which this process expects no due rows, as text for SQL. */
  get floor(): string {
    return this.#newestDueMs === Number.NEGATIVE_INFINITY
      ? "-infinity"
      : new Date(this.#newestDueMs - floorLagMs).toISOString();
  }

  resetFloor(): void {
    this.#newestDueMs = Number.NEGATIVE_INFINITY;
    this.floorVersion += 1;
  }

  /** Calls `wake` at `atMs` or soon after. If more than `wakesMax` calls are scheduled, the latest are dropped. */
  wakeAt(atMs: number, clock: { readonly nowMs: () => number; readonly wake: () => void }): void {
    if (this.#wakesAtMs.length >= wakesMax) {
      const latest = Math.max(...this.#wakesAtMs);
      if (atMs >= latest) return;
      this.#wakesAtMs.splice(this.#wakesAtMs.indexOf(latest), 1);
    }
    this.#wakesAtMs.push(atMs);
    if (atMs <= Math.min(...this.#wakesAtMs)) this.#arm(clock);
  }

  // The due times are checked again, because a timer may fire up to 2 ms early and a claim would then find nothing.
  #arm(clock: { readonly nowMs: () => number; readonly wake: () => void }): void {
    clearTimeout(this.#timer);
    const leftMs = Math.min(...this.#wakesAtMs) - clock.nowMs();
    this.#timer = setTimeout(() => {
      const nowMs = clock.nowMs();
      const later = this.#wakesAtMs.filter((atMs) => atMs > nowMs);
      const isDue = later.length < this.#wakesAtMs.length;
      this.#wakesAtMs = later;
      if (later.length > 0) this.#arm(clock);
      if (isDue) clock.wake();
    }, Math.max(0, Math.ceil(leftMs)));
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Adds claimed rows in due order; `floorVersion` is the version when they were claimed. */
  push(rows: readonly Claimed[], claimedAtMs: number, floorVersion: number): void {
    for (const row of rows) this.ready.push({ row, claimedAtMs });
    const newest = rows.at(-1);
    if (newest !== undefined && floorVersion === this.floorVersion) {
      this.#newestDueMs = Math.max(this.#newestDueMs, newest.due_at_ms);
    }
  }
}

// In a shorter window, a pause in the process would distort the rate.
const rateWindowMs = 50;

/** Measures the rate at which deliveries end. Callers pass monotonic times. */
export class DeliveryRate {
  #ended = 0;
  #sinceMs: number;
  #perMs = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** Counts an ended delivery. */
  ended(): void {
    this.#ended += 1;
  }

  /** Returns the number of deliveries expected to end within `ms`. */
  expected(ms: number, nowMs: number): number {
    const elapsedMs = nowMs - this.#sinceMs;
    if (elapsedMs >= rateWindowMs) {
      this.#perMs = this.#ended / elapsedMs;
      this.#ended = 0;
      this.#sinceMs = nowMs;
    }
    return Math.floor(this.#perMs * ms);
  }
}

const claimMax = 512;
/**
 * How long in advance rows are claimed under a backlog.
 *
 * Chosen: 250 ms, because large claims are cheap: PostgreSQL takes 132 µs per row in batches of 16, 52 µs in batches of
 * 64, and 36 µs in batches of 256. If the process dies, claimed rows wait until their lease expires and have spent an
 * attempt.
 */
const claimAheadMs = 250;
// If at least this many ready rows are in memory, each tenant may have only `readyMin`.
const readyMax = 1_024;
const readyMin = 2;
// The maximum number of tenants without ready rows per claim; the others follow in turn.
const waitingMax = claimMax / readyMin;

export type PlannedRequest = ClaimRequest & { readonly floorVersion: number };

/**
 * Plans a claim that brings each tenant's ready rows up to twice the number of free slots, or more under a backlog. An
 * empty plan means that nothing should be claimed now. `readyCount` is the number of ready rows for all tenants;
 * `endingWithin` returns the number of deliveries expected to end within a time.
 */
export function planClaim(
  tenants: Iterable<TenantQueue>,
  { freeSlots, readyCount, endingWithin }: {
    readonly freeSlots: number;
    readonly readyCount: number;
    readonly endingWithin: (ms: number) => number;
  },
): PlannedRequest[] {
  const queues: TenantQueue[] = [];
  let waitingCount = 0;
  for (const queue of tenants) {
    if (!queue.mayHaveDue) continue;
    queues.push(queue);
    if (queue.ready.length === 0) waitingCount += 1;
    if (waitingCount === waitingMax) break;
  }
  if (queues.length === 0) return [];
  const rowsAhead = Math.ceil(endingWithin(claimAheadMs) / queues.length);
  const target = readyCount < readyMax ? Math.max(readyMin, 2 * freeSlots, rowsAhead) : readyMin;
  // Small claims are postponed, because claiming one row costs about as much as claiming a hundred.
  if (!queues.some(({ ready }) => ready.length === 0 || ready.length <= target / 2)) return [];
  const requests: PlannedRequest[] = [];
  let rowsLeft = claimMax;
  for (const queue of queues) {
    const limit = Math.min(rowsLeft, target - queue.ready.length);
    if (limit <= 0) continue;
    const { tenantId, floor, floorVersion } = queue;
    requests.push({ tenantId, floor, floorVersion, limit });
    rowsLeft -= limit;
    if (rowsLeft <= 0) break;
  }
  return requests;
}
