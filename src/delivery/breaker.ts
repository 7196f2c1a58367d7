/**
 * The circuit breaker between the delivery loop and the actions tier: while the tier cannot be reached, nothing is sent
 * to it. It is asked for its health now and then, and after its return the load rises step by step.
 *
 *     half_open (at the start) ──▶ closed ──▶ open ──▶ half_open ──▶ closed | open
 *
 * Chosen: a probe is no lead but `GET /healthz`, because then no lead can die or be delayed of a probe, the tier's return
 * is noticed when nothing is due, and a start tells the truth at once. It costs one small request in ten seconds
 * without deliveries.
 *
 * Source: DECISIONS, Decided since (The breaker).
 *
 * @module
 */

import type { TierFailure } from "./tier_failure.ts";

/** `closed`: all is sent; `half_open`: the tier is being asked; `open`: it did not answer. */
export type BreakerState = "closed" | "open" | "half_open";

/** When it opens and tries again. */
export interface BreakerOptions {
  /** Events sent in a row that got no answer, or 503, which open it. */
  readonly failuresMax: number;
  /** The first pause before the tier is asked; it doubles up to the cap until a delivery is answered. */
  readonly pauseMs: number;
  readonly pauseCapMs: number;
  /** The tier is asked when it has answered nothing for so long. */
  readonly silenceMaxMs: number;
  /** Requests in flight when closed. */
  readonly concurrency: number;
  /** Called when it opens, closes, or stays open for another reason: with that, or `null` when it has closed. */
  readonly onNews: (failure: TierFailure | null) => void;
}

/** How the tier stands; the times are milliseconds ago. */
export interface TierStanding {
  readonly state: BreakerState;
  /** Its last answer; `null`: none since the start. */
  readonly answeredAgoMs: number | null;
  /** The last failure; `null`: none since the start. */
  readonly failure: (TierFailure & { readonly agoMs: number }) | null;
  /** Since it is away; `null` while it is not. */
  readonly awayMs: number | null;
}

/** Counts answers and failures of the tier; time is passed in, in milliseconds. */
export class Breaker {
  readonly #options: BreakerOptions;
  #state: BreakerState = "half_open";
  /** Of events that were sent; an answer to a probe says nothing of them. */
  #failures = 0;
  #pauseMs: number;
  #probeAtMs = Number.NEGATIVE_INFINITY;
  /** Requests in flight that are allowed: grows after the tier's return, so that it is not overrun. */
  #window: number;
  #answeredAtMs: number | null = null;
  #awaySinceMs: number | null = null;
  #failure: (TierFailure & { readonly atMs: number }) | null = null;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#pauseMs = options.pauseMs;
    this.#window = options.concurrency;
  }

  /** The state as last decided. */
  get state(): BreakerState {
    return this.#state;
  }

  /** How many requests may be in flight; 0 unless closed. */
  get allowed(): number {
    return this.#state === "closed" ? this.#window : 0;
  }

  /** When the tier is to be asked next. */
  get probeAtMs(): number {
    return this.#state === "closed"
      ? (this.#answeredAtMs ?? 0) + this.#options.silenceMaxMs
      : this.#probeAtMs;
  }

  /** The tier is being asked for its health. */
  asked(): void {
    if (this.#state === "open") this.#state = "half_open";
  }

  /** The tier answered, whatever it said: an event, or a probe of its health. */
  answered(nowMs: number, { isProbe }: { readonly isProbe: boolean }): void {
    this.#answeredAtMs = nowMs;
    if (!isProbe) this.#failures = 0;
    if (this.#state === "closed") {
      this.#pauseMs = this.#options.pauseMs;
      if (!isProbe) this.#window = Math.min(this.#options.concurrency, this.#window + 1);
      return;
    }
    if (this.#awaySinceMs !== null) this.#window = 1;
    this.#awaySinceMs = null;
    this.#state = "closed";
    this.#options.onNews(null);
  }

  /**
   * The tier could not be reached, or said when it was asked that it cannot work. Or (`isSent`) an event was sent and
   * got no answer or 503: that may be the event's own trouble, so it takes several in a row.
   */
  failed(failure: TierFailure, options: { readonly nowMs: number; readonly isSent: boolean }): void {
    const { nowMs, isSent } = options;
    const before = this.#failure?.cause;
    this.#failure = { cause: failure.cause, code: failure.code, atMs: nowMs };
    if (isSent) this.#failures += 1;
    // What was in flight when it opened puts the next probe off no further.
    if (this.#state === "open") return;
    if (this.#state === "closed" && isSent && this.#failures < this.#options.failuresMax) return;
    const isNews = this.#awaySinceMs === null || before !== failure.cause;
    this.#awaySinceMs ??= nowMs;
    this.#probeAtMs = nowMs + this.#pauseMs;
    this.#pauseMs = Math.min(this.#options.pauseCapMs, this.#pauseMs * 2);
    this.#state = "open";
    if (isNews) this.#options.onNews(failure);
  }

  /** How the tier stands. */
  standing(nowMs: number): TierStanding {
    const agoMs = (atMs: number | null) => atMs === null ? null : nowMs - atMs;
    const failure = this.#failure;
    return {
      state: this.#state,
      answeredAgoMs: agoMs(this.#answeredAtMs),
      failure: failure === null
        ? null
        : { cause: failure.cause, code: failure.code, agoMs: nowMs - failure.atMs },
      awayMs: agoMs(this.#awaySinceMs),
    };
  }
}
