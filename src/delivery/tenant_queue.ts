/**
 * What the delivery loop knows of each tenant, how fast deliveries end, and what the next claim asks for.
 *
 * @module
 */

import type { Claimed, ClaimRequest } from "../store/delivery/outbox.ts";

/** A claimed row and when its lease was taken, on the process's monotonic clock. */
interface Ready {
  readonly row: Claimed;
  readonly claimedAtMs: number;
}

// A floor stays this far behind the newest row that was claimed: a commit that began earlier may still appear.
const floorLagMs = 10_000;

// Bounds the work of a timer; the latest beyond it are found when an earlier one is due, or by the poll.
const wakesMax = 256;

/** Rows that are claimed and wait for their turn, and whether the store may have more. */
export class TenantQueue {
  readonly tenantId: number;
  readonly ready: Ready[] = [];
  inFlight = 0;
  /** The store may have rows of this tenant that are due. */
  mayHaveDue = false;
  /** When retries that this process has scheduled are due, on its monotonic clock. */
  #wakesAtMs: number[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #newestDueMs = Number.NEGATIVE_INFINITY;
  /** How often the floor was forgotten: what a claim from before finds says nothing of what lies below. */
  era = 0;

  constructor(tenantId: number) {
    this.tenantId = tenantId;
  }

  /** Nothing is known of the tenant but its floor. */
  get isIdle(): boolean {
    return this.inFlight === 0 && this.ready.length === 0 && !this.mayHaveDue && this.#wakesAtMs.length === 0;
  }

  /** Nothing of the tenant is due before this time, as far as this process can know. */
  get floor(): string {
    return this.#newestDueMs === Number.NEGATIVE_INFINITY
      ? "-infinity"
      : new Date(this.#newestDueMs - floorLagMs).toISOString();
  }

  /** Looks at everything again with the next claim, whatever a claim under way finds. */
  forgetFloor(): void {
    this.#newestDueMs = Number.NEGATIVE_INFINITY;
    this.era += 1;
  }

  /** Calls `wake` once it is `atMs` or later, for each such time that is kept. */
  wakeAt(atMs: number, clock: { readonly nowMs: () => number; readonly wake: () => void }): void {
    if (this.#wakesAtMs.length >= wakesMax) {
      const latest = Math.max(...this.#wakesAtMs);
      if (atMs >= latest) return;
      this.#wakesAtMs.splice(this.#wakesAtMs.indexOf(latest), 1);
    }
    this.#wakesAtMs.push(atMs);
    if (atMs <= Math.min(...this.#wakesAtMs)) this.#arm(clock);
  }

  // A timer may fire up to 2 ms early (it counts whole milliseconds, from the beginning of the turn). A claim then
  // found nothing, and the row waited for the poll: so the clock is asked.
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

  /** Wakes no more. */
  close(): void {
    clearTimeout(this.#timer);
  }

  /** Takes claimed rows, in the order in which they were due; they were asked for in `era`. */
  push(rows: readonly Claimed[], claimedAtMs: number, era: number): void {
    for (const row of rows) this.ready.push({ row, claimedAtMs });
    const newest = rows.at(-1);
    if (newest !== undefined && era === this.era) {
      this.#newestDueMs = Math.max(this.#newestDueMs, newest.due_at_ms);
    }
  }
}

// Shorter, and a pause of the process would pass for the pace.
const windowMs = 50;

/** Counts deliveries that end; time is passed in, in milliseconds. */
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

  /** How many will end within `ms`, if they go on as they did. */
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

// Bounds a claim's statement.
const claimMax = 512;
/**
 * Under a backlog so much work is claimed ahead.
 *
 * Chosen: a claim of hundreds of rows costs a fraction of one of sixteen, a row: 132 µs of PostgreSQL with its settlement in
 * batches of 16, 52 in batches of 64, 36 in batches of 256. What waits here is lost for the length of a lease when the
 * process dies, and counts as an attempt.
 */
const aheadMs = 250;
// Bounds the payloads in memory: beyond it a tenant gets no more than `readyMin` rows ready.
const readyMax = 1_024;
const readyMin = 2;
// Bounds the work of each answer: tenants with nothing ready that a claim looks at. The others' turn comes.
const waitingMax = claimMax / readyMin;
/** What is asked of a tenant, and since when its floor is known. */
export type PlannedRequest = ClaimRequest & { readonly era: number };

/**
 * As many rows ready as slots are free, so that an answer finds the next one, and under a backlog what is soon sent;
 * but never none of a tenant, however much of what is ready belongs to others. Empty: nothing is to be claimed now.
 *
 * @param state `free`: requests that may be started; `ready`: claimed rows of all tenants; `endingWithin`: deliveries that
 * will have ended in so many milliseconds
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
  // Not for a few rows more: a claim costs much the same for one as for a hundred.
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
