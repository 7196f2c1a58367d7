/**
 * What the delivery loop knows of one tenant.
 *
 * @module
 */

import type { Claimed } from "../store/delivery/outbox.ts";

/** A claimed row and when its lease was taken, on the process's monotonic clock. */
export interface Ready {
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
