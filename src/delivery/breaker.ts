/**
 * The circuit breaker between the delivery loop and the actions tier: while the tier cannot be reached, nothing is sent
 * to it. A connection to it is tried now and then, and after its return the load rises step by step.
 *
 *     closed ──▶ open ──▶ closed                 it could not be reached
 *     closed ──▶ open ──▶ half_open ──▶ closed   it left several events in a row unanswered
 *
 * Chosen: a probe is a connection and nothing on it, because then no lead can die of a probe, the tier's return is noticed
 * when nothing is due, and no tier has to know of it. Only a lead can tell that a tier answers again: `half_open` lets
 * one through at a time, which spends nothing when it gets no answer. The one that the tier does not survive dies all the
 * same: it waits its turn, and the answer to any other closes the breaker.
 *
 * Source: DECISIONS, Decided since (The breaker).
 *
 * @module
 */

import type { TierFailure } from "./send.ts";

/** `closed`: all is sent; `open`: nothing; `half_open`: one event, whose answer closes it. */
type BreakerState = "closed" | "open" | "half_open";

/** When it opens and tries again. */
interface BreakerOptions {
  /** Events sent in a row that got no answer, or 503, which open it. */
  readonly failuresMax: number;
  /** The first pause before a connection is tried; it doubles up to the cap until a delivery is answered. */
  readonly pauseMs: number;
  readonly pauseCapMs: number;
  /** A connection is tried when there was neither an answer nor a connection for so long. */
  readonly silenceMaxMs: number;
  /** Requests in flight when closed. */
  readonly concurrency: number;
  /** Called when it opens, closes, or stays open for another reason: with that, or `null` when it has closed. */
  readonly onNews: (failure: TierFailure | null) => void;
  /** Called at each change of the state. */
  readonly onChange: () => void;
}

/** How the tier stands; the times are milliseconds ago. */
export interface TierStanding {
  readonly state: BreakerState;
  /** Its last answer; `null`: none since the start. */
  readonly answeredAgoMs: number | null;
  /** Its last answer, or the last connection that was tried and made; `null`: none since the start. */
  readonly reachedAgoMs: number | null;
  /** The last failure; `null`: none since the start. */
  readonly failure: (TierFailure & { readonly agoMs: number }) | null;
  /** Since it is away; `null` while it is not. */
  readonly awayMs: number | null;
}

/** Counts answers and failures of the tier; time is passed in, in milliseconds. */
export class Breaker {
  readonly #options: BreakerOptions;
  #state: BreakerState = "closed";
  /** Of events that were sent, in a row; a connection says nothing of them. */
  #failures = 0;
  #pauseMs: number;
  #probeAtMs = Number.NEGATIVE_INFINITY;
  /** Requests in flight that are allowed: grows after the tier's return, so that it is not overrun. */
  #window: number;
  #answeredAtMs: number | null = null;
  #reachedAtMs: number | null = null;
  readonly #startedAtMs: number;
  #awaySinceMs: number | null = null;
  #failure: (TierFailure & { readonly atMs: number }) | null = null;

  constructor(options: BreakerOptions, nowMs: number) {
    this.#options = options;
    this.#startedAtMs = nowMs;
    this.#pauseMs = options.pauseMs;
    this.#window = options.concurrency;
  }

  /** The state as last decided. */
  get state(): BreakerState {
    return this.#state;
  }

  /** How many requests may be in flight. */
  get allowed(): number {
    return { closed: this.#window, half_open: 1, open: 0 }[this.#state];
  }

  /** When a connection is to be tried next. */
  get probeAtMs(): number {
    return this.#state === "open"
      ? this.#probeAtMs
      : (this.#reachedAtMs ?? this.#startedAtMs) + this.#options.silenceMaxMs;
  }

  /** A connection was made. */
  reached(nowMs: number): void {
    this.#reachedAtMs = nowMs;
    if (this.#state !== "open") return;
    this.#window = 1;
    if (this.#failures < this.#options.failuresMax) return this.#close();
    this.#state = "half_open";
    this.#options.onChange();
  }

  /** The tier answered an event, whatever it said. */
  answered(nowMs: number): void {
    this.#answeredAtMs = nowMs;
    this.#reachedAtMs = nowMs;
    this.#failures = 0;
    this.#pauseMs = this.#options.pauseMs;
    this.#window = Math.min(this.#options.concurrency, this.#window + 1);
    if (this.#state !== "closed") this.#close();
  }

  #close(): void {
    this.#awaySinceMs = null;
    this.#state = "closed";
    this.#options.onNews(null);
    this.#options.onChange();
  }

  /**
   * The tier could not be reached. Or (`isSent`) an event was sent and got no answer or 503: that may be the event's own
   * trouble, so it takes several in a row.
   */
  failed(
    failure: TierFailure,
    { nowMs, isSent, isProbe = false }: {
      readonly nowMs: number;
      readonly isSent: boolean;
      readonly isProbe?: boolean;
    },
  ): void {
    const before = this.#failure?.cause;
    this.#failure = { cause: failure.cause, code: failure.code, atMs: nowMs };
    if (isSent) this.#failures += 1;
    // What was in flight when it opened puts the next probe off no further.
    if (this.#state === "open" && !isProbe) return;
    if (this.#state === "closed" && isSent && this.#failures < this.#options.failuresMax) return;
    const isNews = this.#awaySinceMs === null || before !== failure.cause;
    this.#awaySinceMs ??= nowMs;
    this.#probeAtMs = nowMs + this.#pauseMs;
    this.#pauseMs = Math.min(this.#options.pauseCapMs, this.#pauseMs * 2);
    this.#state = "open";
    if (isNews) this.#options.onNews(failure);
    this.#options.onChange();
  }

  /** How the tier stands. */
  standing(nowMs: number): TierStanding {
    const agoMs = (atMs: number | null) => atMs === null ? null : nowMs - atMs;
    const failure = this.#failure;
    return {
      state: this.#state,
      answeredAgoMs: agoMs(this.#answeredAtMs),
      reachedAgoMs: agoMs(this.#reachedAtMs),
      failure: failure === null
        ? null
        : { cause: failure.cause, code: failure.code, agoMs: nowMs - failure.atMs },
      awayMs: agoMs(this.#awaySinceMs),
    };
  }
}

/** What the watch works with. */
interface WatchOptions {
  /** Tries once: `null` when a connection is there; never throws. */
  readonly probe: () => Promise<TierFailure | null>;
  readonly breaker: Breaker;
  readonly nowMs: () => number;
  readonly onFailure: (failure: TierFailure) => void;
}

/** Tries until it is closed, once at a time. */
export class Watch {
  readonly #options: WatchOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isProbing = false;
  #isClosed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** The breaker has changed, or the process begins. */
  look(): void {
    if (this.#isProbing || this.#isClosed) return;
    const { breaker, nowMs } = this.#options;
    clearTimeout(this.#timer);
    const leftMs = breaker.probeAtMs - nowMs();
    if (leftMs <= 0) void this.#probe();
    else this.#timer = setTimeout(() => this.look(), Math.ceil(leftMs));
  }

  async #probe(): Promise<void> {
    const { breaker, nowMs } = this.#options;
    this.#isProbing = true;
    const failure = await this.#options.probe();
    this.#isProbing = false;
    if (this.#isClosed) return;
    if (failure === null) breaker.reached(nowMs());
    else {
      this.#options.onFailure(failure);
      breaker.failed(failure, { nowMs: nowMs(), isSent: false, isProbe: true });
    }
    this.look();
  }

  /** Tries no more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
