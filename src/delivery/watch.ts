/**
 * Asks the actions tier for its health when the breaker wants to know: while it is away, and when it has long answered
 * nothing because nothing was due.
 *
 * @module
 */

import type { Breaker } from "./breaker.ts";
import type { TierFailure } from "./tier_failure.ts";

/** What the watch works with. */
export interface WatchOptions {
  /** Asks once: `null` when the tier answers; never throws. */
  readonly ask: () => Promise<TierFailure | null>;
  readonly breaker: Breaker;
  readonly nowMs: () => number;
  readonly onFailure: (failure: TierFailure) => void;
}

/** Asks until it is closed, once at a time. */
export class Watch {
  readonly #options: WatchOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;
  #isClosed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** The breaker has changed, or the process begins. */
  look(): void {
    if (this.#isAsking || this.#isClosed) return;
    const { breaker, nowMs } = this.#options;
    clearTimeout(this.#timer);
    const leftMs = breaker.probeAtMs - nowMs();
    if (leftMs <= 0) void this.#ask();
    else this.#timer = setTimeout(() => this.look(), Math.ceil(leftMs));
  }

  async #ask(): Promise<void> {
    const { breaker, nowMs } = this.#options;
    this.#isAsking = true;
    breaker.asked();
    const failure = await this.#options.ask();
    this.#isAsking = false;
    if (this.#isClosed) return;
    if (failure === null) breaker.answered(nowMs(), { isProbe: true });
    else {
      this.#options.onFailure(failure);
      breaker.failed(failure, { nowMs: nowMs(), isSent: false });
    }
    this.look();
  }

  /** Asks no more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
