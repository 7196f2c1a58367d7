/**
 * The circuit breaker between the delivery loop and the actions tier: while the tier cannot be reached,
 * nothing is sent to it but one probe now and then, and after its return the load rises step by step.
 *
 * @module
 */

/** What the breaker lets through. */
export type BreakerState = "closed" | "open" | "half_open";

/** When it opens and tries again. */
export interface BreakerOptions {
  /** Failures of the tier in a row, without an answer between them, that open it. */
  readonly failuresMax: number;
  /** The first pause before a probe; it doubles up to the cap while probes fail. */
  readonly pauseMs: number;
  readonly pauseCapMs: number;
  /** Requests in flight when closed. */
  readonly concurrency: number;
  /** Called with the new state when it changes. */
  readonly onChange: (state: BreakerState) => void;
}

/** Counts answers and failures of the tier; time is passed in, in milliseconds. */
export class Breaker {
  readonly #options: BreakerOptions;
  #state: BreakerState = "closed";
  #failures = 0;
  #pauseMs: number;
  #probeAtMs = 0;
  /** Requests in flight that are allowed: grows after the tier's return, so that it is not overrun. */
  #window: number;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#pauseMs = options.pauseMs;
    this.#window = options.concurrency;
  }

  /** The state as last decided. */
  get state(): BreakerState {
    return this.#state;
  }

  /** How many requests may be in flight at this time; 0 while open. */
  allowed(nowMs: number): number {
    if (this.#state === "closed") return this.#window;
    if (this.#state === "open" && nowMs >= this.#probeAtMs) this.#become("half_open");
    return this.#state === "half_open" ? 1 : 0;
  }

  /** When the next probe may go, while open; otherwise `null`. */
  get probeAtMs(): number | null {
    return this.#state === "open" ? this.#probeAtMs : null;
  }

  /** The tier answered, whatever it said. */
  answered(): void {
    this.#failures = 0;
    if (this.#state === "closed") {
      this.#window = Math.min(this.#options.concurrency, this.#window + 1);
      return;
    }
    this.#become("closed");
    this.#pauseMs = this.#options.pauseMs;
    this.#window = Math.min(this.#options.concurrency, 2);
  }

  /** The tier could not be reached, did not answer in time, or said that it cannot work (503). */
  failed(nowMs: number): void {
    this.#failures += 1;
    if (this.#state === "closed" && this.#failures < this.#options.failuresMax) return;
    if (this.#state === "open") return;
    if (this.#state === "half_open") {
      this.#pauseMs = Math.min(this.#options.pauseCapMs, this.#pauseMs * 2);
    }
    this.#probeAtMs = nowMs + this.#pauseMs;
    this.#become("open");
  }

  #become(state: BreakerState): void {
    this.#state = state;
    this.#options.onChange(state);
  }
}
