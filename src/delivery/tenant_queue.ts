/** The delivery loop's state per tenant, its delivery rate, and the request of its next claim. */

import type { Claimed, ClaimRequest } from "../store/delivery/outbox.ts";

/** A claimed row and the start of its lease on the monotonic clock. */
interface Ready {
  readonly row: Claimed;
  readonly claimedAtMs: number;
}

// The floor's distance behind the newest claimed row: commits that began earlier may still appear.
const floorLagMs = 10_000;

// Scheduled retries per tenant; later ones are found when an earlier one is due, or by polling.
const wakesMax = 256;

/** A tenant's ready rows, and whether the store may have more. */
export class TenantQueue {
  readonly tenantId: number;
  readonly ready: Ready[] = [];
  inFlight = 0;
  /** The store may have due rows of this tenant. */
  mayHaveDue = false;
  /** Due times of this process's retries, on the monotonic clock. */
  #wakesAtMs: number[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #newestDueMs = Number.NEGATIVE_INFINITY;
  /** Incremented when the floor is reset; an earlier claim's result does not apply below it. */
  era = 0;

  constructor(tenantId: number) {
    this.tenantId = tenantId;
  }

  /** It holds nothing but the floor. */
  get isIdle(): boolean {
    return this.inFlight === 0 && this.ready.length === 0 && !this.mayHaveDue && this.#wakesAtMs.length === 0;
  }

  /** Nothing is due before this time, as far as this process knows. */
  get floor(): string {
    return this.#newestDueMs === Number.NEGATIVE_INFINITY
      ? "-infinity"
      : new Date(this.#newestDueMs - floorLagMs).toISOString();
  }

  /** Resets the floor for the next claim, whatever the current one finds. */
  forgetFloor(): void {
    this.#newestDueMs = Number.NEGATIVE_INFINITY;
    this.era += 1;
  }

  /** Calls `wake` at `atMs` or later, for each scheduled time. */
  wakeAt(atMs: number, clock: { readonly nowMs: () => number; readonly wake: () => void }): void {
    if (this.#wakesAtMs.length >= wakesMax) {
      const latest = Math.max(...this.#wakesAtMs);
      if (atMs >= latest) return;
      this.#wakesAtMs.splice(this.#wakesAtMs.indexOf(latest), 1);
    }
    this.#wakesAtMs.push(atMs);
    if (atMs <= Math.min(...this.#wakesAtMs)) this.#arm(clock);
  }

  // A timer may fire up to 2 ms early, when a claim would find nothing; so check the clock.
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

  /** Cancels the timer. */
  close(): void {
    clearTimeout(this.#timer);
  }

  /** Adds claimed rows in due order; `era` is that of their claim. */
  push(rows: readonly Claimed[], claimedAtMs: number, era: number): void {
    for (const row of rows) this.ready.push({ row, claimedAtMs });
    const newest = rows.at(-1);
    if (newest !== undefined && era === this.era) {
      this.#newestDueMs = Math.max(this.#newestDueMs, newest.due_at_ms);
    }
  }
}

// Over a shorter window, a pause of the process would look like the rate.
const windowMs = 50;

/** The rate of ending deliveries; time is passed in, in milliseconds. */
export class Pace {
  #ended = 0;
  #sinceMs: number;
  #perMs = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** A delivery has ended. */
  ended(): void {
    this.#ended += 1;
  }

  /** The expected number within `ms`. */
  expected(ms: number, nowMs: number): number {
    const elapsedMs = nowMs - this.#sinceMs;
    if (elapsedMs >= windowMs) {
      this.#perMs = this.#ended / elapsedMs;
      this.#ended = 0;
      this.#sinceMs = nowMs;
    }
    return Math.floor(this.#perMs * ms);
  }
}

// Rows per claim.
const claimMax = 512;
/**
 * How much work is claimed ahead under a backlog.
 *
 * Chosen, because large claims are cheap: 132 µs of PostgreSQL per row in batches of 16, 52 of 64, 36 of 256. If the
 * process dies, claimed rows wait for their lease and have spent an attempt.
 */
const aheadMs = 250;
// Payload bytes in memory; beyond it a tenant gets at most `readyMin` ready rows.
const readyMax = 1_024;
const readyMin = 2;
// Tenants without ready rows per claim; the others follow in turn.
const waitingMax = claimMax / readyMin;
/** A claim's request for a tenant, and its floor. */
export type PlannedRequest = ClaimRequest & { readonly era: number };

/**
 * Plans a claim: as many ready rows as free slots, more under a backlog, and at least one per tenant. Empty means that
 * nothing is to be claimed now.
 *
 * @param state `free`: slots; `ready`: claimed rows of all tenants; `endingWithin`: deliveries that end within some time
 */
export function planClaim(
  tenants: Iterable<TenantQueue>,
  { free, ready: readyCount, endingWithin }: {
    readonly free: number;
    readonly ready: number;
    readonly endingWithin: (ms: number) => number;
  },
): PlannedRequest[] {
  const queues: TenantQueue[] = [];
  let waiting = 0;
  for (const queue of tenants) {
    if (!queue.mayHaveDue) continue;
    queues.push(queue);
    if (queue.ready.length === 0) waiting += 1;
    if (waiting === waitingMax) break;
  }
  if (queues.length === 0) return [];
  const ahead = Math.ceil(endingWithin(aheadMs) / queues.length);
  const target = readyCount < readyMax ? Math.max(readyMin, 2 * free, ahead) : readyMin;
  // Not for a few more rows: a claim costs about the same for one as for a hundred.
  if (!queues.some(({ ready }) => ready.length === 0 || ready.length <= target / 2)) return [];
  const requests: PlannedRequest[] = [];
  let left = claimMax;
  for (const queue of queues) {
    const limit = Math.min(left, target - queue.ready.length);
    if (limit <= 0) continue;
    const { tenantId, floor, era } = queue;
    requests.push({ tenantId, floor, era, limit });
    left -= limit;
    if (left <= 0) break;
  }
  return requests;
}
