/**
 * The delivery loop: claims due rows, sends and settles them.
 *
 *     commit, NOTIFY, poll ──▶ wake ──▶ claim ──▶ ready rows ──▶ send ──▶ settle
 *                                         ▲          ▲ shares, breaker       │
 *                                         └────── in one statement ──────────┘
 *
 * Every event (a wake-up, claimed rows, an answer) calls {@linkcode DeliveryLoop.#pump}, which starts whatever may start.
 * The table is the truth: a wake-up is a hint, and polling finds what was missed. Nothing is claimed while the breaker is
 * open.
 */

import { mayStart } from "../http/outbound/fair_queue.ts";
import type { TlsObservation } from "../http/tls_files.ts";
import type { Claimed, ClaimRequest, Settlement } from "../store/delivery/outbox.ts";
import { type BackoffOptions, judge, release } from "./judge.ts";
import type { Breaker } from "./breaker.ts";
import { payload, type SendOutcome, type TierFailure } from "./send.ts";
import { Settler } from "./settler.ts";
import { Pace, planClaim, type PlannedRequest, TenantQueue } from "./tenant_queue.ts";

/** An observation. */
export type DeliveryObservation =
  /** The store has accepted them. */
  | { readonly kind: "settled"; readonly settlements: readonly Settlement[] }
  /** The breaker has opened, or stays open for another reason; without a failure, it has closed. */
  | { readonly kind: "breaker"; readonly failure: TierFailure | null }
  /** The tier was unreachable, did not answer, or answered 503; each time. */
  | { readonly kind: "tier_failure"; readonly failure: TierFailure }
  /** A statement failed; the next poll retries. */
  | {
    readonly kind: "delivery_failure";
    readonly what: "claim" | "settle" | "poll";
    readonly error: unknown;
  }
  | TlsObservation;

/** The poller's options. */
interface PollerOptions {
  /** Polls once; never throws. */
  readonly look: () => Promise<void>;
  readonly nowMs: () => number;
  /** The poll interval without hints. */
  readonly intervalMs: number;
}

// Hints cause at most one poll per interval.
const hintGapMs = 20;

/** Runs one poll at a time. */
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

  /** Polls now, or soon if a poll is running or has just run. */
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
    // Events hinted at meanwhile may have been committed after this poll began.
    this.#schedule(this.#isHinted ? hintGapMs : this.#options.intervalMs);
  }

  /** Stops polling. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}

/** The loop's dependencies; time and randomness are passed in. */
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

// Polling finds later retries.
const timerMaxMs = 60_000;

/** Delivers until it is closed. */
export class DeliveryLoop {
  readonly #parts: DeliveryParts;
  readonly #options: DeliveryOptions;
  readonly #settler: Settler;
  readonly #poller: Poller;
  readonly #pace: Pace;
  readonly #tenants = new Map<number, TenantQueue>();
  /** Tenants with ready or possibly due rows, in round-robin order. */
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

  /** Starts polling. */
  start(): void {
    this.#poller.hint();
  }

  /** Events of these tenants were committed. */
  wake(tenantIds: Iterable<number>): void {
    for (const id of tenantIds) this.#mayHaveDue(this.#queue(id));
    this.#pump();
  }

  /** Requests in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Another node may have committed events, or a hint was missed. */
  hint(): void {
    this.#poller.hint();
  }

  async #poll(): Promise<void> {
    try {
      const nowMs = this.#parts.nowMs();
      // A periodic claim below the floor finds rows of dead processes, late ones and replays; a lease of 35 s is claimed
      // again within 60 s.
      if (nowMs - this.#floorsForgottenAtMs >= this.#options.leaseMs / 2) {
        this.#floorsForgottenAtMs = nowMs;
        for (const queue of this.#tenants.values()) {
          // Not during a claim, whose result would not apply to a new queue.
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

  // Starts one request per tenant in turn while its share allows.
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
    // If the lease could expire during the send, the event could be sent twice.
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

  // Any response except 503 counts as answered.
  #tell(outcome: SendOutcome): void {
    const { breaker, observe } = this.#parts;
    const nowMs = this.#parts.nowMs();
    if (outcome.kind !== "unreachable") return breaker.answered(nowMs);
    const { failure, isSent } = outcome;
    observe({ kind: "tier_failure", failure });
    breaker.failed(failure, { nowMs, isSent });
  }

  // While the breaker is open or the loop is closing, release claims for other processes.
  #releaseReady(): void {
    if (this.#ready === 0) return;
    for (const queue of this.#turns) {
      for (const { row } of queue.ready.splice(0)) this.#settler.add(release(row));
    }
    this.#ready = 0;
  }

  // A released row is due again, later or at once.
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
      // Leave it to the poll: an immediate retry would flood an unavailable store.
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

  // Round robin; otherwise one tenant would get every first attempt after the tier's recovery.
  #toTheEnd(queue: TenantQueue): void {
    this.#turns.delete(queue);
    this.#turns.add(queue);
  }

  /** Starts nothing more, releases claims, and waits up to `graceMs` for requests in flight. */
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
