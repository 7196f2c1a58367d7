/**
 * The delivery loop: claims due rows, sends them and settles them.
 *
 *     commit, NOTIFY, poll ──▶ wake ──▶ claim ──▶ ready rows ──▶ send ──▶ settle
 *                                         ▲          ▲ shares, breaker       │
 *                                         └────── in one statement ──────────┘
 *
 * Each wake-up, claim and response calls {@linkcode DeliveryLoop.#pump}, which starts every send that may start.
 * Wake-ups are only hints; polling finds what they miss.
 */

import { mayStart } from "../http/outbound/fair_queue.ts";
import type { TlsObservation } from "../http/tls_files.ts";
import type { Claimed, ClaimRequest, Settlement } from "../store/delivery/outbox.ts";
import { payload } from "../store/delivery/payload.ts";
import { waitAtMost } from "../store/wait.ts";
import type { Breaker } from "./breaker.ts";
import type { SendOutcome, TierFailure } from "./send.ts";
import { type BackoffOptions, releasedSettlement, settlementOf } from "./settlement.ts";
import { Settler } from "./settler.ts";
import { DeliveryRate, planClaim, type PlannedRequest, TenantQueue } from "./tenant_queue.ts";

export type DeliveryObservation =
  /** The store has committed the settlements. */
  | { readonly kind: "settled"; readonly settlements: readonly Settlement[] }
  /** The tier has become unavailable, or the cause has changed; if `failure` is `null`, the breaker has closed. */
  | { readonly kind: "breaker"; readonly failure: TierFailure | null }
  /** The actions tier was unreachable, did not respond, or responded with 503. */
  | { readonly kind: "tier_failure"; readonly failure: TierFailure }
  /** A statement failed and will be retried. */
  | {
    readonly kind: "delivery_failure";
    readonly what: "claim" | "settle" | "poll";
    readonly error: unknown;
  }
  | TlsObservation;

interface PollerOptions {
  /** Polls once; never rejects. */
  readonly poll: () => Promise<void>;
  readonly nowMs: () => number;
  /** The pause between polls if no hint arrives. */
  readonly intervalMs: number;
}

// The minimum interval between polls that hints trigger.
const hintGapMs = 20;

/** Runs one poll at a time. */
class Poller {
  readonly #options: PollerOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isPolling = false;
  #isHinted = false;
  #isClosed = false;
  #polledAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  /** Polls now; if a poll is running or has just run, polls shortly afterwards. */
  hint(): void {
    this.#isHinted = true;
    if (!this.#isPolling) this.#schedule(hintGapMs - (this.#options.nowMs() - this.#polledAtMs));
  }

  #schedule(afterMs: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    if (afterMs <= 0) void this.#poll();
    else this.#timer = setTimeout(() => void this.#poll(), afterMs);
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    this.#isHinted = false;
    this.#polledAtMs = this.#options.nowMs();
    await this.#options.poll();
    this.#isPolling = false;
    // The events that a hint announces may have been committed after this poll started.
    this.#schedule(this.#isHinted ? hintGapMs : this.#options.intervalMs);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}

interface DeliveryParts {
  /** Settles and then claims, in one statement. */
  readonly claim: (
    requests: readonly ClaimRequest[],
    settlements: readonly Settlement[],
  ) => Promise<Claimed[]>;
  readonly settle: (settlements: readonly Settlement[]) => Promise<void>;
  readonly dueTenants: (floors: readonly Pick<ClaimRequest, "tenantId" | "floor">[]) => Promise<number[]>;
  /** Makes events due that wait longer than any may. */
  readonly limitWaits: () => Promise<void>;
  readonly send: (eventId: string, body: string) => Promise<SendOutcome>;
  readonly breaker: Breaker;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly observe: (observation: DeliveryObservation) => void;
}

interface DeliveryOptions extends BackoffOptions {
  readonly attemptsMax: number;
  readonly leaseMs: number;
  readonly sendTimeoutMs: number;
  readonly pollMs: number;
}

// The maximum delay of a timer; polling finds later retries.
const timerMaxMs = 60_000;

export class DeliveryLoop {
  readonly #parts: DeliveryParts;
  readonly #options: DeliveryOptions;
  readonly #settler: Settler;
  readonly #poller: Poller;
  readonly #rate: DeliveryRate;
  readonly #tenants = new Map<number, TenantQueue>();
  /** The tenants with ready or possibly due rows, in round-robin order. */
  readonly #rotation = new Set<TenantQueue>();
  #inFlight = 0;
  #readyCount = 0;
  #isClaiming = false;
  #isClosing = false;
  #floorsResetAtMs = Number.NEGATIVE_INFINITY;
  #idleWaiters: (() => void)[] = [];

  constructor(parts: DeliveryParts, options: DeliveryOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#settler = new Settler({
      settle: parts.settle,
      onSettled: (batch) => this.#afterSettle(batch),
      onFailure: (error) => this.#reportFailure("settle", error),
    });
    this.#rate = new DeliveryRate(parts.nowMs());
    this.#poller = new Poller({
      poll: () => this.#poll(),
      nowMs: parts.nowMs,
      intervalMs: options.pollMs,
    });
  }

  wake(tenantIds: Iterable<number>): void {
    for (const id of tenantIds) this.#markPossiblyDue(this.#getQueue(id));
    this.#pump();
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Polls now or soon, because another process may have committed events. The first call starts the polling. */
  hint(): void {
    this.#poller.hint();
  }

  async #poll(): Promise<void> {
    try {
      const nowMs = this.#parts.nowMs();
      // Rows from dead processes, late commits and replays are due before the floor. With the default lease of 35 s, a
      // dead process's row is claimed again within 60 s.
      if (nowMs - this.#floorsResetAtMs >= this.#options.leaseMs / 2) {
        this.#floorsResetAtMs = nowMs;
        for (const queue of this.#tenants.values()) {
          // Queues are kept during a claim, because the claimed rows may belong to them.
          if (queue.isIdle && !this.#isClaiming) this.#tenants.delete(queue.tenantId);
          else queue.resetFloor();
        }
        await this.#parts.limitWaits();
      }
      this.wake(await this.#parts.dueTenants([...this.#tenants.values()]));
    } catch (error) {
      this.#reportFailure("poll", error);
    }
  }

  #reportFailure(what: "claim" | "settle" | "poll", error: unknown): void {
    this.#parts.observe({ kind: "delivery_failure", what, error });
  }

  #getQueue(tenantId: number): TenantQueue {
    let queue = this.#tenants.get(tenantId);
    if (queue === undefined) {
      queue = new TenantQueue(tenantId);
      this.#tenants.set(tenantId, queue);
    }
    return queue;
  }

  #pump(): void {
    const requestsMax = this.#isClosing ? 0 : this.#parts.breaker.requestsMax;
    if (requestsMax > 0) {
      this.#start(requestsMax);
      void this.#claim(requestsMax);
    } else this.#releaseReady();
    if (this.#isIdle) { for (const resolve of this.#idleWaiters.splice(0)) resolve(); }
  }

  get #isIdle(): boolean {
    return this.#inFlight === 0 && this.#readyCount === 0 && !this.#isClaiming;
  }

  #markPossiblyDue(queue: TenantQueue): void {
    queue.mayHaveDue = true;
    this.#rotation.add(queue);
  }

  #start(requestsMax: number): void {
    for (const queue of this.#rotation) {
      if (this.#inFlight >= requestsMax) return;
      if (queue.ready.length > 0) {
        if (mayStart(queue.inFlight, this.#inFlight, requestsMax)) this.#startOne(queue);
      } else if (!queue.mayHaveDue) this.#rotation.delete(queue);
    }
  }

  #startOne(queue: TenantQueue): void {
    const { row, claimedAtMs } = queue.ready.shift() as TenantQueue["ready"][number];
    this.#readyCount -= 1;
    this.#moveToEnd(queue);
    // If the lease expired during the send, the event could be sent twice.
    const leaseLeftMs = this.#options.leaseMs - (this.#parts.nowMs() - claimedAtMs);
    if (leaseLeftMs <= this.#options.sendTimeoutMs) return this.#settler.add(releasedSettlement(row));
    queue.inFlight += 1;
    this.#inFlight += 1;
    void this.#send(queue, row);
  }

  async #send(queue: TenantQueue, row: Claimed): Promise<void> {
    const { breaker, nowMs } = this.#parts;
    const startedAtMs = nowMs();
    const isProbe = breaker.state === "half_open";
    const outcome = await this.#parts.send(row.event_id, payload(row));
    const durationMs = Math.round(nowMs() - startedAtMs);
    this.#reportOutcome(outcome);
    queue.inFlight -= 1;
    this.#inFlight -= 1;
    this.#rate.ended();
    const attempt = { durationMs, isProbe, random: this.#parts.random() };
    this.#settler.add(settlementOf(row, outcome, attempt, this.#options));
    this.#pump();
  }

  #reportOutcome(outcome: SendOutcome): void {
    const { breaker, observe } = this.#parts;
    const nowMs = this.#parts.nowMs();
    if (outcome.kind !== "unreachable") return breaker.responded(nowMs);
    const { failure, isSent } = outcome;
    observe({ kind: "tier_failure", failure });
    breaker.failed(failure, { nowMs, isSent });
  }

  #releaseReady(): void {
    if (this.#readyCount === 0) return;
    for (const queue of this.#rotation) {
      for (const { row } of queue.ready.splice(0)) this.#settler.add(releasedSettlement(row));
    }
    this.#readyCount = 0;
  }

  #afterSettle(batch: readonly Settlement[]): void {
    this.#parts.observe({ kind: "settled", settlements: batch });
    if (this.#isClosing) return;
    for (const settlement of batch) {
      if (["retry", "released"].includes(settlement.kind)) this.#wakeLater(settlement);
    }
    this.#pump();
  }

  #wakeLater({ tenantId, retryMs }: Settlement): void {
    if (retryMs > timerMaxMs) return;
    const { nowMs } = this.#parts;
    this.#getQueue(tenantId).wakeAt(nowMs() + retryMs, { nowMs, wake: () => this.wake([tenantId]) });
  }

  async #claim(requestsMax: number): Promise<void> {
    // A claim settles everything first: otherwise, after an outage, it would take and send again what was delivered
    // before. If it cannot, the settler's own write pumps again.
    if (this.#isClaiming || this.#settler.isWriting || this.#settler.exceedsBatch) return;
    const requests = planClaim(this.#rotation, {
      freeSlots: requestsMax - this.#inFlight,
      readyCount: this.#readyCount,
      endingWithin: (ms) => this.#rate.expected(ms, this.#parts.nowMs()),
    });
    if (requests.length === 0) return;
    this.#isClaiming = true;
    const claimedAtMs = this.#parts.nowMs();
    for (const { tenantId } of requests) this.#getQueue(tenantId).mayHaveDue = false;
    try {
      const rows = await this.#settler.writeWith((batch) => this.#parts.claim(requests, batch));
      this.#addClaimed(requests, rows, claimedAtMs);
    } catch (error) {
      // The next poll retries; an immediate retry would overload an unavailable store.
      this.#reportFailure("claim", error);
    }
    this.#isClaiming = false;
    this.#pump();
  }

  #addClaimed(requests: readonly PlannedRequest[], rows: readonly Claimed[], claimedAtMs: number): void {
    const byTenant = Map.groupBy(rows, (row) => row.tenant_id);
    for (const { tenantId, limit, floorVersion } of requests) {
      const queue = this.#getQueue(tenantId);
      const tenantRows = byTenant.get(tenantId) ?? [];
      queue.push(tenantRows, claimedAtMs, floorVersion);
      if (tenantRows.length >= limit) queue.mayHaveDue = true;
      this.#moveToEnd(queue);
    }
    this.#readyCount += rows.length;
  }

  // Without the rotation, the same tenant would get every first attempt when the tier recovers.
  #moveToEnd(queue: TenantQueue): void {
    this.#rotation.delete(queue);
    this.#rotation.add(queue);
  }

  /** Releases unsent rows, waits up to `graceMs` for requests in flight, and writes the settlements. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.#poller.close();
    for (const queue of this.#tenants.values()) queue.close();
    const idle = new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    this.#pump();
    await waitAtMost(graceMs, idle);
    await this.#settler.close();
  }
}
