/**
 * The delivery loop: claims what is due, sends it, settles it.
 *
 *     commit, NOTIFY, poll ──▶ wake ──▶ claim ──▶ ready rows ──▶ send ──▶ settle
 *                                         ▲          ▲ shares, breaker       │
 *                                         └────── in one statement ──────────┘
 *
 * It is a pump: every event (a wake-up, a claim's rows, an answer) calls {@linkcode DeliveryLoop.#pump},
 * which starts whatever may be started. The table is the truth; a wake-up is a hint, and the poll finds
 * what was missed. While the breaker is open nothing is claimed: {@linkcode DeliveryLoop.hint} when something may be sent again.
 *
 * @module
 */

import { mayStart } from "../http/outbound/fair_queue.ts";
import type { TlsObservation } from "../http/tls_files.ts";
import type { Claimed, ClaimRequest, Settlement } from "../store/delivery/outbox.ts";
import { type BackoffOptions, judge, release } from "./judge.ts";
import type { Breaker } from "./breaker.ts";
import { payload, type SendOutcome, type TierFailure } from "./send.ts";
import { Settler } from "./settler.ts";
import { Pace, planClaim, type PlannedRequest, TenantQueue } from "./tenant_queue.ts";

/** One thing that has happened. */
export type DeliveryObservation =
  /** The store has taken them. */
  | { readonly kind: "settled"; readonly settlements: readonly Settlement[] }
  /**
   * The breaker has opened, or is open for another reason; without a failure it has closed. A probe that fails as the
   * one before is no news.
   */
  | { readonly kind: "breaker"; readonly failure: TierFailure | null }
  /** The tier could not be reached, gave no answer or said that it cannot work, each time. */
  | { readonly kind: "tier_failure"; readonly failure: TierFailure }
  /** A statement of the loop failed; the next look tries again. */
  | {
    readonly kind: "delivery_failure";
    readonly what: "claim" | "settle" | "poll";
    readonly error: unknown;
  }
  | TlsObservation;

/** What the poller works with. */
interface PollerOptions {
  /** Looks once; never throws. */
  readonly look: () => Promise<void>;
  readonly nowMs: () => number;
  /** Without a hint, the outbox is looked at this often. */
  readonly intervalMs: number;
}

// Hints of a busy node are looked into at most this often.
const hintGapMs = 20;

/** Runs one look at a time. */
class Poller {
  readonly #options: PollerOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isLooking = false;
  #isHinted = false;
  #isClosed = false;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  /** Looks soon: at once, unless a look runs or has just run. */
  hint(): void {
    this.#isHinted = true;
    if (!this.#isLooking) this.#schedule(hintGapMs - (this.#options.nowMs() - this.#lookedAtMs));
  }

  #schedule(afterMs: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    if (afterMs <= 0) void this.#look();
    else this.#timer = setTimeout(() => void this.#look(), afterMs);
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    this.#isHinted = false;
    this.#lookedAtMs = this.#options.nowMs();
    await this.#options.look();
    this.#isLooking = false;
    // What was hinted at meanwhile may have been committed after the look began.
    this.#schedule(this.#isHinted ? hintGapMs : this.#options.intervalMs);
  }

  /** Looks no more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}

/** What the loop works with; time and randomness are passed in. */
interface DeliveryParts {
  /** Settles first. */
  readonly claim: (
    requests: readonly ClaimRequest[],
    settlements: readonly Settlement[],
  ) => Promise<Claimed[]>;
  readonly settle: (settlements: readonly Settlement[]) => Promise<void>;
  readonly dueTenants: (floors: readonly Pick<ClaimRequest, "tenantId" | "floor">[]) => Promise<number[]>;
  readonly send: (eventId: string, body: string) => Promise<SendOutcome>;
  readonly breaker: Breaker;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly observe: (observation: DeliveryObservation) => void;
}

/** The loop's bounds. */
interface DeliveryOptions extends BackoffOptions {
  readonly attemptsMax: number;
  readonly leaseMs: number;
  readonly sendTimeoutMs: number;
  readonly pollMs: number;
}

// Retries further away are the poll's.
const timerMaxMs = 60_000;

/** Delivers until it is closed. */
export class DeliveryLoop {
  readonly #parts: DeliveryParts;
  readonly #options: DeliveryOptions;
  readonly #settler: Settler;
  readonly #poller: Poller;
  readonly #pace: Pace;
  readonly #tenants = new Map<number, TenantQueue>();
  /** Those that have rows ready or may have rows due, in the order of their turns. */
  readonly #turns = new Set<TenantQueue>();
  #inFlight = 0;
  #ready = 0;
  #isClaiming = false;
  #isClosing = false;
  #floorsForgottenAtMs = Number.NEGATIVE_INFINITY;
  #idleWaiters: (() => void)[] = [];

  constructor(parts: DeliveryParts, options: DeliveryOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#settler = new Settler({
      settle: parts.settle,
      onSettled: (batch) => this.#afterSettle(batch),
      onFailure: (error) => this.#failed("settle", error),
    });
    this.#pace = new Pace(parts.nowMs());
    this.#poller = new Poller({
      look: () => this.#poll(),
      nowMs: parts.nowMs,
      intervalMs: options.pollMs,
    });
  }

  /** Polls for the first time and goes on. */
  start(): void {
    this.#poller.hint();
  }

  /** Something of these tenants was committed. */
  wake(tenantIds: Iterable<number>): void {
    for (const id of tenantIds) this.#mayHaveDue(this.#queue(id));
    this.#pump();
  }

  /** Requests in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Another node may have committed something, or something may have been missed. */
  hint(): void {
    this.#poller.hint();
  }

  async #poll(): Promise<void> {
    try {
      const nowMs = this.#parts.nowMs();
      // Every so often a claim looks below its floor: at rows whose claimer is gone, that came due late, or were put back by
      // hand. With half a lease, and a poll's time, a lease of 35 s is claimed again within 60 s of its beginning.
      if (nowMs - this.#floorsForgottenAtMs >= this.#options.leaseMs / 2) {
        this.#floorsForgottenAtMs = nowMs;
        for (const queue of this.#tenants.values()) {
          // Not while a claim is under way: what it finds says nothing to a queue that is made anew.
          if (queue.isIdle && !this.#isClaiming) this.#tenants.delete(queue.tenantId);
          else queue.forgetFloor();
        }
      }
      this.wake(await this.#parts.dueTenants([...this.#tenants.values()]));
    } catch (error) {
      this.#failed("poll", error);
    }
  }

  #failed(what: "claim" | "settle" | "poll", error: unknown): void {
    this.#parts.observe({ kind: "delivery_failure", what, error });
  }

  #queue(tenantId: number): TenantQueue {
    let queue = this.#tenants.get(tenantId);
    if (queue === undefined) {
      queue = new TenantQueue(tenantId);
      this.#tenants.set(tenantId, queue);
    }
    return queue;
  }

  #pump(): void {
    const allowed = this.#isClosing ? 0 : this.#parts.breaker.allowed;
    if (allowed > 0) {
      this.#start(allowed);
      void this.#claim(allowed);
    } else this.#releaseReady();
    if (this.#isIdle) { for (const resolve of this.#idleWaiters.splice(0)) resolve(); }
  }

  get #isIdle(): boolean {
    return this.#inFlight === 0 && this.#ready === 0 && !this.#isClaiming;
  }

  #mayHaveDue(queue: TenantQueue): void {
    queue.mayHaveDue = true;
    this.#turns.add(queue);
  }

  // Starts one request of each tenant in turn while its share allows. Who was served is met again behind the others.
  #start(allowed: number): void {
    for (const queue of this.#turns) {
      if (this.#inFlight >= allowed) return;
      if (queue.ready.length > 0) {
        if (mayStart(queue.inFlight, this.#inFlight, allowed)) this.#startOne(queue);
      } else if (!queue.mayHaveDue) this.#turns.delete(queue);
    }
  }

  #startOne(queue: TenantQueue): void {
    const { row, claimedAtMs } = queue.ready.shift() as TenantQueue["ready"][number];
    this.#ready -= 1;
    this.#toTheEnd(queue);
    // A lease that could run out during the send would make it a repeat.
    const leaseLeftMs = this.#options.leaseMs - (this.#parts.nowMs() - claimedAtMs);
    if (leaseLeftMs <= this.#options.sendTimeoutMs) return this.#settler.add(release(row));
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
    this.#tell(outcome);
    queue.inFlight -= 1;
    this.#inFlight -= 1;
    this.#pace.ended();
    const attempt = { durationMs, isProbe, random: this.#parts.random() };
    this.#settler.add(judge(row, outcome, attempt, this.#options));
    this.#pump();
  }

  // Answered is whatever the tier said but that it cannot work.
  #tell(outcome: SendOutcome): void {
    const { breaker, observe } = this.#parts;
    const nowMs = this.#parts.nowMs();
    if (outcome.kind !== "unreachable") return breaker.answered(nowMs);
    const { failure, isSent } = outcome;
    observe({ kind: "tier_failure", failure });
    breaker.failed(failure, { nowMs, isSent });
  }

  // While the breaker is open or the loop is closing, others may have what is claimed here.
  #releaseReady(): void {
    if (this.#ready === 0) return;
    for (const queue of this.#turns) {
      for (const { row } of queue.ready.splice(0)) this.#settler.add(release(row));
    }
    this.#ready = 0;
  }

  // When the store has taken a row back, it is due again later or at once.
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
    this.#queue(tenantId).wakeAt(nowMs() + retryMs, { nowMs, wake: () => this.wake([tenantId]) });
  }

  async #claim(allowed: number): Promise<void> {
    if (this.#isClaiming) return;
    const requests = planClaim(this.#turns, {
      free: allowed - this.#inFlight,
      ready: this.#ready,
      endingWithin: (ms) => this.#pace.expected(ms, this.#parts.nowMs()),
    });
    if (requests.length === 0) return;
    this.#isClaiming = true;
    const claimedAtMs = this.#parts.nowMs();
    for (const { tenantId } of requests) this.#queue(tenantId).mayHaveDue = false;
    try {
      const rows = await this.#settler.carry((batch) => this.#parts.claim(requests, batch));
      this.#take(requests, rows, claimedAtMs);
    } catch (error) {
      // The poll asks again: at once would be a storm while the store is away.
      this.#failed("claim", error);
    }
    this.#isClaiming = false;
    this.#pump();
  }

  #take(requests: readonly PlannedRequest[], rows: readonly Claimed[], claimedAtMs: number): void {
    const byTenant = Map.groupBy(rows, (row) => row.tenant_id);
    for (const { tenantId, limit, era } of requests) {
      const queue = this.#queue(tenantId);
      const own = byTenant.get(tenantId) ?? [];
      queue.push(own, claimedAtMs, era);
      if (own.length >= limit) queue.mayHaveDue = true;
      this.#toTheEnd(queue);
    }
    this.#ready += rows.length;
  }

  // Of the turns: who was served waits for the others. Else one tenant would have each first try after the tier's return.
  #toTheEnd(queue: TenantQueue): void {
    this.#turns.delete(queue);
    this.#turns.add(queue);
  }

  /** Starts nothing more, gives back what is claimed, and waits for what is in flight, at most `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.#poller.close();
    for (const queue of this.#tenants.values()) queue.close();
    const idle = new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    this.#pump();
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([idle, new Promise((resolve) => timer = setTimeout(resolve, graceMs))]);
    clearTimeout(timer);
    await this.#settler.close();
  }
}
