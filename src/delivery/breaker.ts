/**
 * The circuit breaker between the delivery loop and the actions tier. While it is open, nothing is sent, and it probes the
 * tier; after recovery the load rises in steps.
 *
 *     closed ──▶ open ──▶ closed                 the tier was unreachable
 *     closed ──▶ open ──▶ half_open ──▶ closed   it left several events in a row unanswered
 *
 * Chosen: a probe only opens a connection, so that it costs no lead an attempt and works when nothing is due. `half_open`
 * sends one event at a time, which spends no attempt if it gets no answer.
 *
 * Source: DECISIONS, Decided since (The breaker).
 */

import type { TierFailure } from "./send.ts";

/** `closed`: everything is sent; `open`: nothing; `half_open`: one event, whose answer closes it. */
type BreakerState = "closed" | "open" | "half_open";

/** When it opens and probes. */
interface BreakerOptions {
  /** Consecutive events without an answer, or with a 503, that open it. */
  readonly failuresMax: number;
  /** The first pause before a probe; it doubles up to the cap until a delivery is answered. */
  readonly pauseMs: number;
  readonly pauseCapMs: number;
  /** Probes after this long without an answer or a connection. */
  readonly silenceMaxMs: number;
  /** Maximum requests in flight when closed. */
  readonly concurrency: number;
  /** Called with the failure when it opens or stays open for another reason, and with `null` when it closes. */
  readonly onNews: (failure: TierFailure | null) => void;
  /** Called at each state change. */
  readonly onChange: () => void;
}

/** The tier's status; times are milliseconds ago. */
export interface TierStanding {
  readonly state: BreakerState;
  /** Its last answer, or `null`. */
  readonly answeredAgoMs: number | null;
  /** Its last answer or successful probe, or `null`. */
  readonly reachedAgoMs: number | null;
  /** The last failure, or `null`. */
  readonly failure: (TierFailure & { readonly agoMs: number }) | null;
  /** Since when it has been unavailable, or `null`. */
  readonly awayMs: number | null;
}

/** Tracks the tier's answers and failures; time is passed in, in milliseconds. */
export class Breaker {
  readonly #options: BreakerOptions;
  #state: BreakerState = "closed";
  /** Consecutive failed events; probes do not count. */
  #failures = 0;
  #pauseMs: number;
  #probeAtMs = Number.NEGATIVE_INFINITY;
  /** Allowed requests in flight; grows after recovery, so that the tier is not overrun. */
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

  /** The current state. */
  get state(): BreakerState {
    return this.#state;
  }

  /** The allowed number of requests in flight. */
  get allowed(): number {
    return { closed: this.#window, half_open: 1, open: 0 }[this.#state];
  }

  /** When to probe next. */
  get probeAtMs(): number {
    return this.#state === "open"
      ? this.#probeAtMs
      : (this.#reachedAtMs ?? this.#startedAtMs) + this.#options.silenceMaxMs;
  }

  /** A probe succeeded. */
  reached(nowMs: number): void {
    this.#reachedAtMs = nowMs;
    if (this.#state !== "open") return;
    this.#window = 1;
    if (this.#failures < this.#options.failuresMax) return this.#close();
    this.#state = "half_open";
    this.#options.onChange();
  }

  /** The tier answered an event. */
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

  /** The tier was unreachable; or, with `isSent`, an event got no answer or 503, which opens it only several in a row. */
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
    // Requests that were in flight when it opened do not delay the next probe.
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

  /** The tier's status. */
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

/** The probe and the pauses. */
interface WatchOptions {
  /** Connects once: `null` on success; never throws. */
  readonly probe: () => Promise<TierFailure | null>;
  readonly breaker: Breaker;
  readonly nowMs: () => number;
  readonly onFailure: (failure: TierFailure) => void;
}

/** Probes until the breaker closes, one probe at a time. */
export class Watch {
  readonly #options: WatchOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isProbing = false;
  #isClosed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** The breaker has changed, or the process has started. */
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

  /** Stops probing. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
