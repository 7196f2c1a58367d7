/**
 * The circuit breaker between the delivery loop and the actions tier.
 *
 *     closed ──▶ open ──▶ closed                 the tier was unreachable
 *     closed ──▶ open ──▶ half_open ──▶ closed   consecutive events got no response, or a 503
 *
 * Chosen: a probe only opens a connection, so it spends no attempt and is possible when nothing is due. In `half_open`,
 * events are sent one at a time, and an attempt without a response does not count towards the maximum.
 *
 * Source: DECISIONS, Decided since (The breaker).
 */

import type { TierFailure } from "./send.ts";

type BreakerState = "closed" | "open" | "half_open";

interface BreakerOptions {
  /** The number of consecutive events without a response, or with a 503, after which the breaker opens. */
  readonly failuresMax: number;
  /** The first pause before a probe; each failure doubles it, up to `pauseCapMs`, until the tier processes an event. */
  readonly pauseMs: number;
  readonly pauseCapMs: number;
  /** The time without a response or successful probe after which the tier is probed while the breaker is not open. */
  readonly silenceMaxMs: number;
  readonly concurrency: number;
  /** Called with the failure when the tier becomes unavailable or the cause changes; with `null` when it recovers. */
  readonly onReport: (failure: TierFailure | null) => void;
  /** Called when the state changes, and when a failure postpones the next probe. */
  readonly onChange: () => void;
}

/** The tier's status as observed by this process. */
export interface TierStatus {
  readonly state: BreakerState;
  /** The time since the last response other than 503 to an event; `null` if there was none. */
  readonly respondedAgoMs: number | null;
  /** The time since the last such response or successful probe; `null` if there was none. */
  readonly reachedAgoMs: number | null;
  readonly failure: (TierFailure & { readonly agoMs: number }) | null;
  /** The time for which the tier has been unavailable; `null` while it is available. */
  readonly unavailableMs: number | null;
}

/** Tracks the tier's responses and failures. Callers pass monotonic times. */
export class Breaker {
  readonly #options: BreakerOptions;
  #state: BreakerState = "closed";
  /** The number of consecutive events that failed after being sent; probes do not count. */
  #failures = 0;
  #pauseMs: number;
  #probeAtMs = Number.NEGATIVE_INFINITY;
  /** The maximum number of requests in flight while closed: 1 after an outage, then one more per response. */
  #window: number;
  #respondedAtMs: number | null = null;
  #reachedAtMs: number | null = null;
  readonly #startedAtMs: number;
  #unavailableSinceMs: number | null = null;
  #failure: (TierFailure & { readonly atMs: number }) | null = null;

  constructor(options: BreakerOptions, nowMs: number) {
    this.#options = options;
    this.#startedAtMs = nowMs;
    this.#pauseMs = options.pauseMs;
    this.#window = options.concurrency;
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** The maximum number of requests in flight. */
  get requestsMax(): number {
    return { closed: this.#window, half_open: 1, open: 0 }[this.#state];
  }

  get probeAtMs(): number {
    return this.#state === "open"
      ? this.#probeAtMs
      : (this.#reachedAtMs ?? this.#startedAtMs) + this.#options.silenceMaxMs;
  }

  /** Records a successful probe. */
  reached(nowMs: number): void {
    this.#reachedAtMs = nowMs;
    if (this.#state !== "open") return;
    this.#window = 1;
    if (this.#failures < this.#options.failuresMax) return this.#close();
    this.#state = "half_open";
    this.#options.onChange();
  }

  /** Records a response other than 503 to an event. */
  responded(nowMs: number): void {
    this.#respondedAtMs = nowMs;
    this.#reachedAtMs = nowMs;
    this.#failures = 0;
    this.#pauseMs = this.#options.pauseMs;
    this.#window = Math.min(this.#options.concurrency, this.#window + 1);
    if (this.#state !== "closed") this.#close();
  }

  #close(): void {
    this.#unavailableSinceMs = null;
    this.#state = "closed";
    this.#options.onReport(null);
    this.#options.onChange();
  }

  /** Records a failure. A closed breaker opens at once if nothing was sent, otherwise after `failuresMax` failures. */
  failed(
    failure: TierFailure,
    { nowMs, isSent, isProbe = false }: {
      readonly nowMs: number;
      readonly isSent: boolean;
      readonly isProbe?: boolean;
    },
  ): void {
    const previousCause = this.#failure?.cause;
    this.#failure = { cause: failure.cause, code: failure.code, atMs: nowMs };
    if (isSent) this.#failures += 1;
    // Requests that were in flight when the breaker opened do not delay the next probe.
    if (this.#state === "open" && !isProbe) return;
    if (this.#state === "closed" && isSent && this.#failures < this.#options.failuresMax) return;
    const isReported = this.#unavailableSinceMs === null || previousCause !== failure.cause;
    this.#unavailableSinceMs ??= nowMs;
    this.#probeAtMs = nowMs + this.#pauseMs;
    this.#pauseMs = Math.min(this.#options.pauseCapMs, this.#pauseMs * 2);
    this.#state = "open";
    if (isReported) this.#options.onReport(failure);
    this.#options.onChange();
  }

  status(nowMs: number): TierStatus {
    const agoMs = (atMs: number | null) => atMs === null ? null : nowMs - atMs;
    const failure = this.#failure;
    return {
      state: this.#state,
      respondedAgoMs: agoMs(this.#respondedAtMs),
      reachedAgoMs: agoMs(this.#reachedAtMs),
      failure: failure === null
        ? null
        : { cause: failure.cause, code: failure.code, agoMs: nowMs - failure.atMs },
      unavailableMs: agoMs(this.#unavailableSinceMs),
    };
  }
}

interface ProberOptions {
  /** Connects once; resolves to the failure or, on success, to `null`; never rejects. */
  readonly probe: () => Promise<TierFailure | null>;
  readonly breaker: Breaker;
  readonly nowMs: () => number;
  readonly onFailure: (failure: TierFailure) => void;
}

/** Probes the tier whenever the breaker's next probe is due. */
export class Prober {
  readonly #options: ProberOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isProbing = false;
  #isClosed = false;

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  /** Schedules the next probe, or starts it if it is due; call this at startup and whenever the breaker changes. */
  schedule(): void {
    if (this.#isProbing || this.#isClosed) return;
    const { breaker, nowMs } = this.#options;
    clearTimeout(this.#timer);
    const leftMs = breaker.probeAtMs - nowMs();
    if (leftMs <= 0) void this.#probe();
    else this.#timer = setTimeout(() => this.schedule(), Math.ceil(leftMs));
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
    this.schedule();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
